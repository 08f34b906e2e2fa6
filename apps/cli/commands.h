/* The commands. Each takes its name as argv[0] and its arguments after it, and returns the exit
 * code. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

int cmd_draw(int argc, char **argv);
int cmd_score(int argc, char **argv);
int cmd_estimate(int argc, char **argv);
int cmd_tree(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_shuf(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_eval(int argc, char **argv);
int cmd_bench(int argc, char **argv);

#endif
