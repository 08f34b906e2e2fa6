# Plots the total variation from sampling without replacement against the number of draws, a panel
# for each T.
load "../style.gp"
set datafile missing NaN # a line continues across the rows of other methods
eval figure("exactness", 1200, 560)
data = dir."/exactness.csv"

methods = "sbs resample commit beam-sample sbs-again"
titles = "'sbs' 'resample (fresh noise at each step)' 'commit (one child each)' 'beam-sample (best k of 2k)' 'sbs, another seed'"
array style[5] = [SBS, SAMPLE, DIVERSE, OTHER, SBS_RAW]
is(m, model, t) = strcol(1) eq model && column(3) == t && strcol(4) eq word(methods, m)

stats data skip 1 using (strcol(1) eq "tree" ? column(5) : NaN) nooutput
tree_draws = STATS_max
stats data skip 1 using (strcol(1) eq "fig1" ? column(5) : NaN) nooutput
other_draws = STATS_max

set multiplot
set logscale xy
set format x "10^{%L}"
set format y "%g"
set xrange [800:1.25 * tree_draws]
set yrange [0.003:1.2]
set tmargin at screen 0.80
set bmargin at screen 0.14
do for [col = 0:1] {
    t = word("1 0.5", col + 1) + 0
    set lmargin at screen 0.085 + 0.485 * col
    set rmargin at screen 0.495 + 0.485 * col
    set title sprintf("Sets of 2 of 27 leaves, T = %g", t) offset 0,-0.6
    set xlabel "Number of draws"
    set ylabel col == 0 ? "Total variation to the exact law" : "" offset 0.5,0
    plot data skip 1 using 5:(is(1, "tree", t) ? column(7) : NaN) with lines lc rgb "#bbbbbb" lw 9 dt 1, \
         for [m = 1:5] data skip 1 using 5:(is(m, "tree", t) ? column(6) : NaN) with linespoints ls style[m] ps 0.9
}
unset title; unset xlabel; unset ylabel; unset tics; unset border; unset grid; unset logscale
set lmargin at screen 0.02; set rmargin at screen 0.98
set tmargin at screen 1; set bmargin at screen 0.86
set xrange [0:1]; set yrange [0:1]
set key at screen 0.5, 0.99 center top horizontal maxrows 2 width 1 samplen 3.5
plot for [m = 1:5] NaN with linespoints ls style[m] ps 0.9 title word(titles, m), \
     NaN with lines lc rgb "#bbbbbb" lw 9 title "expected of an exact sampler"
unset multiplot
reset

# --- every case at its largest number of draws ---

load "../style.gp"
set datafile missing NaN
eval figure("cases", 1200, 480)
last(m, model, t) = is(m, model, t) && column(5) == (model eq "tree" ? tree_draws : other_draws)
models = "tree tree wide wide fig1 fig1"
ts = "1 0.5 1 0.5 1 0.5"

set logscale y
set format y "%g"
set yrange [0.002:1.2]
set xrange [0.5:6.5]
set grid noxtics
set xtics ("27 leaves, k = 2\nT = 1" 1, "27 leaves, k = 2\nT = 0.5" 2, "64 leaves, k = 2\nT = 1" 3, "64 leaves, k = 2\nT = 0.5" 4, "Figure 1, k = 3\nT = 1" 5, "Figure 1, k = 3\nT = 0.5" 6) scale 0
set tmargin at screen 0.84
set bmargin at screen 0.15
set ylabel "Total variation to the exact law"
set key at screen 0.5, 0.99 center top horizontal maxrows 2 width 1
plot for [m = 1:5] NaN with points ls style[m] ps 1.4 title word(titles, m), \
     NaN with lines lc rgb "#bbbbbb" lw 9 title "expected of an exact sampler", \
     for [i = 1:6] data skip 1 using (last(1, word(models, i), word(ts, i) + 0) ? i - 0.35 : NaN):7:(0.7):(0) with vectors nohead lc rgb "#bbbbbb" lw 9, \
     for [m = 1:5] for [i = 1:(m == 3 ? 4 : 6)] data skip 1 using (last(m, word(models, i), word(ts, i) + 0) ? i + 0.11 * (m == 5 ? -1 : m - 2 - (m == 1)) : NaN):6 with points ls style[m] ps 1.4
