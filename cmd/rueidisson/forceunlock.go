package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
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

func forceUnlockCommand(t *tool) *cobra.Command {
	var read, write bool
	cmd := &cobra.Command{
		Use:   "force-unlock NAME",
		Short: "Take a lock away from its holder",
		Long:  forceUnlockLong,
		Example: `  rueidisson force-unlock orders
  rueidisson force-unlock orders --json`,
		Args: oneName,
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
func forceUnlock(ctx context.Context, t *tool, name, side string) error {
	var held bool
	err := withState(ctx, t, name, func(c *rueidisson.Client, s *state) (err error) {
		held, err = force(ctx, c, s, side)
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case t.json:
		t.sayJSON(t.stdout, struct {
			Name     string `json:"name"`
			Released bool   `json:"released"`
		}{name, held})
	case held:
		fmt.Fprintf(t.stdout, "%s: taken from its holder\n", name)
	default:
		fmt.Fprintf(t.stdout, "%s: nobody held it\n", name)
	}
	return nil
}

func force(ctx context.Context, c *rueidisson.Client, s *state, side string) (held bool, err error) {
	kind := s.kind()
	switch isRW := s.mode() != ""; {
	case isRW && side == "":
		return false, usage("%q is a read-write lock: --read or --write says from whom it is taken", s.name)
	case side != "" && (isRW || s.nothing()):
		if held, err = forceSide(ctx, c, s.name, side); err != nil {
			err = failed(err)
		}
		return held, err
	case side != "":
		return false, failed(fmt.Errorf("force unlock %q: %w: %q", s.name, rueidisson.ErrWrongKind, kind.name))
	}
	if kind.force == nil {
		return false, failed(fmt.Errorf("force unlock %q: %w: %q", s.name, rueidisson.ErrWrongKind, kind.name))
	}
	if held, err = kind.force(ctx, c, s.name); err != nil {
		return false, failed(err)
	}
	return held, nil
}

func forceSide(ctx context.Context, c *rueidisson.Client, name, side string) (held bool, err error) {
	if side == readSide.name {
		return c.RWLock(name).Read().ForceUnlock(ctx)
	}
	return c.RWLock(name).Write().ForceUnlock(ctx)
}
