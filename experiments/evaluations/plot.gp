# Plots the cost of k distinct samples, rows of the model and time: against temperature for sbs and reject, and against
# k for the searches of sbs.
load "../style.gp"
set datafile missing NaN # a line continues across the rows of other methods
data = dir."/evaluations.csv"
is(method, k) = strcol(1) eq method && column(2) == k
full(method, k, c) = is(method, k) && column(6) == 0 ? column(c) : NaN
cut(method, k, c) = is(method, k) && column(6) > 0 ? column(c) : NaN
spent(k) = column(11) - column(12)

stats data skip 1 using 2 nooutput
k1 = STATS_min
k2 = STATS_max
n = k1 == k2 ? 1 : 2 # columns
eval figure("evaluations", 1200, 900)
set multiplot
set logscale xy
set format y "10^{%L}"
set xrange [1.2:0.042]
set xtics 10 format ""
unset mxtics
set grid noxtics
do for [row = 0:1] {
    do for [col = 0:n - 1] {
        k = col == 0 ? k1 : k2
        set lmargin at screen 0.085 + 0.485 * col
        set rmargin at screen n == 1 ? 0.98 : 0.495 + 0.485 * col
        set tmargin at screen row == 0 ? 0.89 : 0.50
        set bmargin at screen row == 0 ? 0.575 : 0.145
        set title row == 0 ? sprintf("k = %d", k) : "" offset 0,-0.6
        set xlabel row == 1 ? "Temperature, and below it the mean entropy (nats)" : "" offset 0,-1.6
        if (row == 0) {
            set ylabel col == 0 ? "Rows of the model, for each sentence" : "" offset 0.5,0
            set yrange [30:5e6]
            plot data skip 1 using 3:(full("reject", k, 8)) with points ls SAMPLE ps 1.2, \
                 data skip 1 using 3:(is("reject", k) ? column(8) : NaN) with lines ls SAMPLE, \
                 data skip 1 using 3:(cut("reject", k, 8)) with points ls SAMPLE pt 4 ps 1.2 lw 1.6, \
                 data skip 1 using 3:(cut("reject", k, 8)):(0):(1.2 * cut("reject", k, 8)) with vectors head filled size screen 0.007,22 fixed ls SAMPLE dt 1 lw 1.6, \
                 data skip 1 using 3:(3 * cut("reject", k, 8)):(sprintf("%d/%d", column(6), column(5))) with labels center offset 0,0.4 font ",12" textcolor rgb vermillion, \
                 data skip 1 using 3:(is("reject", k) ? column(10) : NaN) with linespoints ls BEAM_NORM ps 1.1, \
                 data skip 1 using 3:(is("sbs", k) ? column(8) : NaN) with linespoints ls SBS ps 1.2
        } else {
            set ylabel col == 0 ? "Processor time (ms), for each sentence" : "" offset 0.5,0
            set yrange [7:700]
            plot data skip 1 using (is("reject", k) ? column(3) : NaN):(7):(sprintf("%s\n%.2g", strcol(3), column(4))) with labels center offset 0,-1.3, \
                 data skip 1 using 3:(is("reject", k) ? 1000 * spent(k) / column(5) : NaN) with lines ls SAMPLE, \
                 data skip 1 using 3:(1000 * spent(k) / column(5) * full("reject", k, 8) / column(8)) with points ls SAMPLE ps 1.2, \
                 data skip 1 using 3:(1000 * spent(k) / column(5) * cut("reject", k, 8) / column(8)) with points ls SAMPLE pt 4 ps 1.2 lw 1.6, \
                 data skip 1 using 3:(is("sbs", k) ? 1000 * spent(k) / column(5) : NaN) with linespoints ls SBS ps 1.2
        }
    }
}
unset title; unset xlabel; unset ylabel; unset tics; unset border; unset grid; unset logscale
set lmargin at screen 0.02; set rmargin at screen 0.98
set tmargin at screen 1; set bmargin at screen 0.93
set xrange [0:1]; set yrange [0:1]
set key at screen 0.5, 0.99 center top horizontal maxrows 2 width 1 samplen 3.5
plot NaN with linespoints ls SBS ps 1.2 title "sbs", \
     NaN with linespoints ls SAMPLE ps 1.2 title "reject, one sample after the other", \
     NaN with linespoints ls BEAM_NORM ps 1.1 title "reject, common prefixes evaluated once", \
     NaN with points ls SAMPLE pt 4 ps 1.2 lw 1.6 title "given up for n/N sentences: at least so much"
unset multiplot

reset
load "../style.gp"
set datafile missing NaN
data = dir."/searches.csv"
was(search, parallel, t) = strcol(1) eq search && strcol(2) eq parallel && column(4) == t
rows(search, parallel, t) = was(search, parallel, t) ? column(6) / column(3) : NaN
spent(search, parallel, t) = was(search, parallel, t) ? 1000 * (column(7) - column(8)) / column(5) / column(3) : NaN
stats data skip 1 using (column(6) / column(3)) nooutput
most_rows = 1.1 * STATS_max
stats data skip 1 using (1000 * (column(7) - column(8)) / column(5) / column(3)) nooutput
most_ms = 1.1 * STATS_max
stats data skip 1 using 3 nooutput
eval figure("searches", 1200, 820)
set multiplot
set logscale x
set xrange [0.85:1.18 * STATS_max]
set xtics (1, 2, 5, 10, 20, 50, 100)
array T[3] = [0.1, 0.3, 1]
do for [row = 0:1] {
    do for [col = 1:3] {
        t = T[col]
        set lmargin at screen 0.08 + 0.313 * (col - 1)
        set rmargin at screen 0.352 + 0.313 * (col - 1)
        set tmargin at screen row == 0 ? 0.87 : 0.46
        set bmargin at screen row == 0 ? 0.53 : 0.10
        set title row == 0 ? sprintf("T = %g", t) : "" offset 0,-0.6
        set xlabel row == 1 ? "k" : ""
        if (row == 0) {
            set ylabel col == 1 ? "Rows for each sequence" : "" offset 0,0
            set yrange [0:most_rows]
            set ytics 10
            plot data skip 1 using 3:(rows("best-first", "1", t)) with filledcurves y1=0 fc rgb "#e8e8e8", \
                 data skip 1 using 3:(rows("level", "", t)) with linespoints ls OTHER ps 1.2, \
                 data skip 1 using 3:(rows("best-first", "1", t)) with lines ls TRUTH lw 2, \
                 data skip 1 using 3:(rows("best-first", "auto", t)) with linespoints ls SBS ps 1.1
        } else {
            set ylabel col == 1 ? "Milliseconds for each sequence" : "" offset 0,0
            set yrange [0:most_ms]
            set ytics 1
            plot data skip 1 using 3:(spent("level", "", t)) with linespoints ls OTHER ps 1.2, \
                 data skip 1 using 3:(spent("best-first", "1", t)) with linespoints ls SBS_RAW ps 1.1, \
                 data skip 1 using 3:(spent("best-first", "auto", t)) with linespoints ls SBS ps 1.1
        }
    }
}
unset title; unset xlabel; unset ylabel; unset tics; unset border; unset grid; unset logscale
set lmargin at screen 0.02; set rmargin at screen 0.98
set tmargin at screen 1; set bmargin at screen 0.93
set xrange [0:1]; set yrange [0:1]
set key at screen 0.5, 0.985 center top horizontal maxrows 1 width 0 samplen 3
plot NaN with linespoints ls OTHER ps 1.2 title "level search", \
     NaN with linespoints ls SBS ps 1.1 title "best-first search", \
     NaN with linespoints ls SBS_RAW ps 1.1 title "with --parallel 1", \
     NaN with boxes fs solid fc rgb "#e8e8e8" title "the fewest rows possible"
unset multiplot
