# Figures 3 and 4: rows are sentences, columns temperatures. The caller sets quantity, its name with
# the unit, such as "BLEU (0 to 100)". Two figures: estimates.svg, means and bands over the draws;
# rmse.svg, the error against k.
load "../style.gp"
truths = dir."/truth.csv"

array sentence[3]
array temperature[5]
do for [i = 1:3] {
    stats truths skip 1 every ::(i - 1) * 5::(i - 1) * 5 using 1 nooutput
    sentence[i] = STATS_min
}
do for [j = 1:5] {
    stats truths skip 1 every ::j - 1::j - 1 using 2 nooutput
    temperature[j] = STATS_min
}
stats dir."/estimates.csv" skip 1 using 4 nooutput
most = STATS_max

names = "mc sbs sbs-normalised beam beam-normalised"
titles = "'Monte Carlo' 'SBS' 'SBS normalised' 'Beam search' 'Beam search normalised'"
array style[5] = [SAMPLE, SBS_RAW, SBS, BEAM, BEAM_NORM]

# The data of a panel: the number of the estimator, k, mean, p025, p975, rmse. A curve of 250 points is
# thinned to those that can be seen.
number(e) = e eq word(names, 1) ? 1 : e eq word(names, 2) ? 2 : e eq word(names, 3) ? 3 : e eq word(names, 4) ? 4 : 5
seen(k, e) = k <= 30 || int(k) % 5 == 0 || number(e) > 3
select = "set autoscale; set table $panel separator comma; plot dir.'/estimates.csv' skip 1 using (number(strcol(3))):4:6:7:8:10 with table if (column(1) == sentence[row] && column(2) == temperature[col] && seen(column(4), strcol(3))); unset table"
k_of(e) = column(1) == e ? column(2) : NaN
late(e, k, y) = column(1) == e && column(2) >= (k < most ? k : most) ? column(y) : NaN
here(c) = column(1) == sentence[row] && column(2) == temperature[col] ? column(c) : NaN

left(col) = 0.076 + 0.1855 * (col - 1)
upper(row) = 0.89 - 0.28 * (row - 1)
margins = "set lmargin at screen left(col); set rmargin at screen left(col) + 0.145; set tmargin at screen upper(row); set bmargin at screen upper(row) - 0.225"
labels = "set title row == 1 ? sprintf('T = %g', temperature[col]) : '' offset 0,-0.6; unset label; if (col == 5) { set label sprintf('sentence %d', sentence[row]) at screen 0.985, upper(row) - 0.112 center rotate by 270 textcolor rgb '#555555' }"
axes = "set label 100 k_title at screen 0.5, 0.025 center; set label 101 y_title at screen 0.014, 0.5 center rotate by 90"
legend = "unset title; unset label; unset tics; unset border; unset grid; unset logscale; set xrange [0:1]; set yrange [0:1]; set lmargin at screen 0.02; set rmargin at screen 0.98; set tmargin at screen 1; set bmargin at screen 0.94; set key at screen 0.5, 0.988 center top horizontal maxrows 1 width 1 samplen 3.5"

eval figure("estimates", 1200, 900)
set multiplot
k_title = "Number of sequences k"
y_title = "Estimate of the ".quantity
set style fill transparent solid 0.22 noborder
set tics font ",13"
set xtics offset 0,0.4
set xtics most > 100 ? 100 : most / 4
do for [row = 1:3] {
    do for [col = 1:5] {
        eval select
        # The range covers the bands from k = 5 on; for estimators that settle later, from 20 or 45 on.
        low = 1e300; high = -1e300
        do for [e = 1:5] {
            from = e == 2 ? 20 : e == 4 ? 45 : 5
            stats $panel using (late(e, from, e < 4 ? 4 : 3)) nooutput
            low = STATS_min < low ? STATS_min : low
            stats $panel using (late(e, from, e < 4 ? 5 : 3)) nooutput
            high = STATS_max > high ? STATS_max : high
        }
        room = high > low ? 0.06 * (high - low) : 1
        set xrange [0:most]
        set yrange [low - room:high + room]
        eval margins
        eval labels
        plot $panel using (k_of(2)):4:5 with filledcurves fc rgb sky, \
             $panel using (k_of(1)):4:5 with filledcurves fc rgb vermillion, \
             $panel using (k_of(3)):4:5 with filledcurves fc rgb blue, \
             truths skip 1 using (0):(here(5)):(most):(0) with vectors nohead ls TRUTH, \
             for [e in "4 5 2 1 3"] $panel using (k_of(e + 0)):3 with lines ls style[e + 0]
    }
}
eval legend
eval axes
plot for [e = 1:5] NaN with lines ls style[e] title word(titles, e), \
     NaN with lines ls TRUTH title "truth"
unset multiplot
unset output

reset
load "../style.gp"
eval figure("rmse", 1200, 900)
set multiplot
k_title = "Number of sequences k (logarithmic)"
y_title = "Root mean square error of the ".quantity.", logarithmic"
set format y "10^{%T}"
set tics font ",13"
set xtics offset 0,0.4
set xtics (1, 10, 100)
do for [row = 1:3] {
    do for [col = 1:5] {
        unset logscale
        eval select
        stats $panel using (column(6) > 0 ? log10(column(6)) : NaN) nooutput
        set logscale xy
        set xrange [1:most]
        low = floor(STATS_min) > -8 ? floor(STATS_min) : -8 # less is rounding
        set yrange [10.0 ** low:10 ** ceil(STATS_max)]
        set ytics 10 ** (1 + floor((ceil(STATS_max) - low) / 6))
        eval margins
        eval labels
        plot truths skip 1 using (1):(here(6)):(most - 1):(0) with vectors nohead ls TRUTH, \
             for [e in "4 5 2 1 3"] $panel using (k_of(e + 0)):(column(6) > 0 ? column(6) : NaN) with lines ls style[e + 0]
    }
}
eval legend
eval axes
plot for [e = 1:5] NaN with lines ls style[e] title word(titles, e), \
     NaN with lines ls TRUTH title "s.e. of the truth"
unset multiplot
