package run

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/server"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
)

// Command is a CMD that runs under a hold, and what its flags say.
type Command struct {
	*tool.Tool
	Noun           string // what the hold is of
	Take           func(ctx context.Context, c *rueidisson.Client) (Holding, error)
	Name           string
	argv           []string
	Try            bool // --wait was given
	Wait           time.Duration
	Lease          time.Duration // 0: renewed
	Watchdog       time.Duration // 0: the library's default
	Grace          time.Duration
	Embedded       bool
	exportPassword bool
	conflict       int // the exit code when it was not acquired
}

// TakeArgs splits the arguments at the dashes. The dashes are required, since flags of
// CMD would be taken for ours without them.
func (r *Command) TakeArgs(cmd *cobra.Command, args []string) (err error) {
	r.Name, r.argv, err = SplitArgs(cmd, args)
	return err
}

// SplitArgs returns the one NAME before the dashes, and CMD after them.
func SplitArgs(cmd *cobra.Command, args []string) (name string, argv []string, err error) {
	switch dash := cmd.ArgsLenAtDash(); {
	case dash < 0:
		return "", nil, exit.Usagef("-- is needed between NAME and CMD")
	case dash != 1:
		return "", nil, exit.Usagef("one NAME is needed before --, not %d", dash)
	case len(args) < 2 || args[1] == "":
		return "", nil, exit.Usagef("a CMD is needed after --")
	}
	return args[0], args[1:], nil
}

// AddCommonFlags adds the flags that all commands of this kind have. flock(1) has -E under the same name.
func (r *Command) AddCommonFlags(f *pflag.FlagSet) {
	server.AddExportFlag(f, &r.exportPassword)
	f.IntVarP(&r.conflict, "conflict-exit-code", "E", exit.NotAcquired, "end with `CODE` when --wait is over")
}

// CheckAndRun checks the flags, and runs CMD.
func (r *Command) CheckAndRun(ctx context.Context, f *pflag.FlagSet) error {
	r.Try = f.Changed("wait")
	switch {
	case r.Wait < 0:
		return exit.Usagef("--wait %v is negative", r.Wait)
	case f.Changed("lease") && r.Lease <= 0:
		return exit.Usagef("--lease %v is not positive", r.Lease)
	case r.conflict < 0 || r.conflict > exit.Highest:
		return exit.Usagef("-E %d is not between 0 and %d", r.conflict, exit.Highest)
	case r.Grace < 0:
		return exit.Usagef("--grace %v is negative", r.Grace)
	case r.Embedded && f.Changed("redis"):
		return exit.Usagef("--embedded and --redis exclude each other")
	case r.Embedded && r.exportPassword:
		return exit.Usagef("--embedded and --export-password exclude each other: that server has no password")
	}
	if _, err := r.EnvOfCMD(nil, r.exportPassword); err != nil {
		return err
	}
	return r.run(ctx)
}
