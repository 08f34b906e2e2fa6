# Sets the look of all figures; every plot.gp loads it: load "../style.gp". The caller sets `dir`, the folder of
# the CSV files, and may set `to`, the folder for the SVG files (default: dir). A plot sets its terminal by
# eval figure("name", width, height).
#
# Colours are Okabe and Ito's, which colour-blind readers can tell apart; dashes and point types
# differ as well, for prints in black and white. A method has the same look in every figure.

if (!exists("dir")) dir = "."
if (!exists("to")) to = dir
figure(name, width, height) = sprintf("set terminal svg size %d,%d dynamic enhanced font 'sans-serif,15' background '#ffffff'; set output '%s/%s.svg'", width, height, to, name)

black = "#000000"
orange = "#e69f00"
sky = "#56b4e9"
green = "#009e73"
yellow = "#f0e442"
blue = "#0072b2"
vermillion = "#d55e00"
purple = "#cc79a7"
grey = "#767676"

# with linespoints ls SBS, and so on. Solid lines for what is recommended.
SBS = 1;       set style line SBS lc rgb blue lw 2.2 dt 1 pt 7 ps 0.7
SAMPLE = 2;    set style line SAMPLE lc rgb vermillion lw 2.2 dt (6,3) pt 5 ps 0.65
BEAM = 3;      set style line BEAM lc rgb black lw 2 dt (2,3) pt 9 ps 0.8
DIVERSE = 4;   set style line DIVERSE lc rgb green lw 2.2 dt (10,3,2,3) pt 11 ps 0.8
SBS_RAW = 5;   set style line SBS_RAW lc rgb sky lw 2.2 dt (10,4) pt 6 ps 0.7
BEAM_NORM = 6; set style line BEAM_NORM lc rgb orange lw 2.2 dt (2,2,7,2) pt 8 ps 0.8
OTHER = 7;     set style line OTHER lc rgb purple lw 2.2 dt (5,2,2,2,2,2) pt 13 ps 0.8
TRUTH = 8;     set style line TRUTH lc rgb grey lw 1.2 dt 1

set datafile separator comma
set datafile missing ""
set encoding utf8
set border 3 lc rgb grey lw 1
set tics nomirror out scale 0.5 textcolor rgb black
set grid lc rgb "#dddddd" lw 0.8 dt 1
set key noautotitle
