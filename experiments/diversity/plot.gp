# Plots Figure 2: BLEU against diversity, a panel for each k.
load "../style.gp"
if (!exists("name")) name = "diversity"
eval figure(name, 1200, 560)
data = dir."/".name.".csv"

methods = "beam sample sbs diverse"
titles = "'Beam search' 'Sampling' 'Stochastic beam search' 'Diverse beam search'"
array style[4] = [BEAM, SAMPLE, SBS, DIVERSE]
array hollow[4] = [8, 4, 6, 10]

is(m, k) = strcol(1) eq word(methods, m) && column(2) == k
x(m, k) = is(m, k) ? column(13) : NaN
panel(i) = sprintf("set lmargin at screen %.4f; set rmargin at screen %.4f", 0.06 + 0.322 * i, 0.34 + 0.322 * i)

stats data skip 1 using 8 nooutput
top = ceil(STATS_max / 5) * 5
stats data skip 1 using 6 nooutput
bottom = floor(STATS_min / 5) * 5
stats data skip 1 using 13 nooutput
left = floor(STATS_min * 10) / 10.0
right = ceil(STATS_max * 10) / 10.0

set multiplot
set tmargin at screen 0.83
set bmargin at screen 0.13
set xrange [left:right]
set yrange [bottom:top]
set xtics 0.2 offset 0,0.4
set format x "%.1f"
do for [i = 0:2] {
    k = word("5 10 20", i + 1) + 0
    eval panel(i)
    set title sprintf("k = %d", k) offset 0,-0.6
    set xlabel i == 1 ? "Diversity: mean share of distinct 1- to 4-grams" : "" offset 0,0.3
    set ylabel i == 0 ? "Sentence BLEU (0 to 100)" : "" offset 0.5,0
    plot for [m = 1:4] data skip 1 using (x(m, k)):6 with linespoints ls style[m] dt (4,3) lw 1.6 pt hollow[m] ps 0.5, \
         for [m = 1:4] data skip 1 using (x(m, k)):8 with linespoints ls style[m] dt (4,3) lw 1.6 pt hollow[m] ps 0.5, \
         for [m = 1:4] data skip 1 using (x(m, k)):7 with linespoints ls style[m] dt 1 ps 0.8
}

# One legend for the three, above them.
unset title; unset xlabel; unset ylabel; unset tics; unset border; unset grid
set lmargin at screen 0.02; set rmargin at screen 0.98
set tmargin at screen 1; set bmargin at screen 0.88
set xrange [0:1]; set yrange [0:1]
set key at screen 0.5, 0.985 center top horizontal maxrows 2 width 1 samplen 3.5
plot for [m = 1:4] NaN with linespoints ls style[m] dt 1 ps 0.8 title word(titles, m), \
     NaN with lines lc rgb black lw 2 dt 1 title "mean of the k", \
     NaN with lines lc rgb black lw 1.6 dt (4,3) title "minimum and maximum"
unset multiplot
