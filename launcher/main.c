#include "cli/cli.h"
#include "os/os.h"

int main(int argc, char **argv) {
    char **words = os_arguments(&argc, argv);
    return cli_main(argc, words);
}
