package locks

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/inspect"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
)

const forceUnlockLong = `force-unlock takes the lock NAME away from its holder and wakes the waiters. The
holder is not asked. It learns of it at its next renewal, ten seconds
later by default, or when it unlocks; until then it works on, next to the lock's
new holder. So be sure that it is gone: a lock whose holder has crashed comes
free by itself when the lease is over, see "rueidisson inspect". What kind of lock
NAME is shows in Redis. Of a read-write lock, --read takes it away from all of its
readers and --write from its writer: one of the two is needed.

With --json: {"name", "released"}, where released says whether somebody held it.
The exit code is 0 in both cases.`

func forceUnlockCommand(t *tool.Tool) *cobra.Command {
	var read, write bool
	cmd := &cobra.Command{
		Use:   "force-unlock NAME",
		Short: "Take a lock away from its holder",
		Long:  forceUnlockLong,
		Example: `  rueidisson force-unlock orders
  rueidisson force-unlock orders --json`,
		Args: usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			given := map[string]bool{readSide.name: read, writeSide.name: write}
			side, err := chosen([]lockFlag{readSide, writeSide}, func(name string) bool { return given[name] })
			if err != nil {
				return err
			}
			return forceUnlock(cmd.Context(), t, args[0], side.name)
		},
	}
	cmd.Flags().BoolVar(&read, readSide.name, false, "take the read side of a read-write lock away from all of its readers")
	cmd.Flags().BoolVar(&write, writeSide.name, false, "take the write side of a read-write lock away from its writer")
	return cmd
}

// forceUnlock takes name away; side is that of a read-write lock, or "".
func forceUnlock(ctx context.Context, t *tool.Tool, name, side string) error {
	var held bool
	err := inspect.WithLock(ctx, t, name, func(c *rueidisson.Client, s *inspect.LockState) (err error) {
		held, err = force(ctx, c, s, side)
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case t.JSON:
		t.SayJSON(t.Stdout, struct {
			Name     string `json:"name"`
			Released bool   `json:"released"`
		}{name, held})
	case held:
		fmt.Fprintf(t.Stdout, "%s: taken from its holder\n", name)
	default:
		fmt.Fprintf(t.Stdout, "%s: nobody held it\n", name)
	}
	return nil
}

func force(ctx context.Context, c *rueidisson.Client, s *inspect.LockState, side string) (held bool, err error) {
	kind := s.Kind()
	switch isRW := s.Mode() != ""; {
	case isRW && side == "":
		return false, exit.Usagef("%q is a read-write lock: --read or --write says from whom it is taken", s.Name)
	case side != "" && (isRW || s.Nothing()):
		if held, err = forceSide(ctx, c, s.Name, side); err != nil {
			err = exit.Failed(err)
		}
		return held, err
	case side != "":
		return false, exit.Failed(fmt.Errorf("force unlock %q: %w: %q", s.Name, rueidisson.ErrWrongKind, kind.Name))
	}
	if kind.Force == nil {
		return false, exit.Failed(fmt.Errorf("force unlock %q: %w: %q", s.Name, rueidisson.ErrWrongKind, kind.Name))
	}
	if held, err = kind.Force(ctx, c, s.Name); err != nil {
		return false, exit.Failed(err)
	}
	return held, nil
}

func forceSide(ctx context.Context, c *rueidisson.Client, name, side string) (held bool, err error) {
	if side == readSide.name {
		return c.RWLock(name).Read().ForceUnlock(ctx)
	}
	return c.RWLock(name).Write().ForceUnlock(ctx)
}
