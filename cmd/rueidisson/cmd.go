package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rueidisson/rueidisson"
)

// command is a CMD that runs under a hold, and what its flags say.
type command struct {
	*tool
	noun           string // what the hold is of
	take           func(ctx context.Context, c *rueidisson.Client) (holding, error)
	name           string
	argv           []string
	try            bool // --wait was given
	wait           time.Duration
	lease          time.Duration // 0: renewed
	watchdog       time.Duration // 0: the library's default
	grace          time.Duration
	embedded       bool
	exportPassword bool
	conflict       int // the exit code when it was not acquired
}

// takeArgs splits the arguments at the dashes. The dashes are required, since flags of
// CMD would be taken for ours without them.
func (r *command) takeArgs(cmd *cobra.Command, args []string) (err error) {
	r.name, r.argv, err = splitArgs(cmd, args)
	return err
}

// splitArgs returns the one NAME before the dashes, and CMD after them.
func splitArgs(cmd *cobra.Command, args []string) (name string, argv []string, err error) {
	switch dash := cmd.ArgsLenAtDash(); {
	case dash < 0:
		return "", nil, usage("-- is needed between NAME and CMD")
	case dash != 1:
		return "", nil, usage("one NAME is needed before --, not %d", dash)
	case len(args) < 2 || args[1] == "":
		return "", nil, usage("a CMD is needed after --")
	}
	return args[0], args[1:], nil
}

// addCommandFlags adds the flags that all commands of this kind have. flock(1) has -E under the same name.
func (r *command) addCommandFlags(f *pflag.FlagSet) {
	addExportFlag(f, &r.exportPassword)
	f.IntVarP(&r.conflict, "conflict-exit-code", "E", exitNotAcquired, "end with `CODE` when --wait is over")
}

// checkAndRun checks the flags, and runs CMD.
func (r *command) checkAndRun(ctx context.Context, f *pflag.FlagSet) error {
	r.try = f.Changed("wait")
	switch {
	case r.wait < 0:
		return usage("--wait %v is negative", r.wait)
	case f.Changed("lease") && r.lease <= 0:
		return usage("--lease %v is not positive", r.lease)
	case r.conflict < 0 || r.conflict > mostCode:
		return usage("-E %d is not between 0 and %d", r.conflict, mostCode)
	case r.grace < 0:
		return usage("--grace %v is negative", r.grace)
	case r.embedded && f.Changed("redis"):
		return usage("--embedded and --redis exclude each other")
	case r.embedded && r.exportPassword:
		return usage("--embedded and --export-password exclude each other: that server has no password")
	}
	if _, err := r.envOfCMD(nil, r.exportPassword); err != nil {
		return err
	}
	return r.run(ctx)
}
