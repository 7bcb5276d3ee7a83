package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
)

const forceUnlockLong = `force-unlock takes the lock NAME away from whoever holds it and wakes those who
wait. The holder is not asked. It learns of it at its next renewal, ten seconds
later by default, or when it unlocks; until then it works on, next to the lock's
new holder. So be sure that it is gone: a lock whose holder has crashed comes
free by itself when the lease is over, see "rueidisson inspect". What kind of lock
NAME is shows in Redis.

With --json: {"name", "released"}, where released says whether somebody held it.
The exit code is 0 in both cases.`

func (t *tool) forceUnlockCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "force-unlock NAME",
		Short: "Take a lock away from its holder",
		Long:  forceUnlockLong,
		Example: `  rueidisson force-unlock orders
  rueidisson force-unlock orders --json`,
		Args: oneName,
		RunE: func(cmd *cobra.Command, args []string) error { return t.forceUnlock(cmd.Context(), args[0]) },
	}
}

func (t *tool) forceUnlock(ctx context.Context, name string) error {
	var held bool
	err := t.withState(ctx, name, func(c *rueidisson.Client, s *state) (err error) {
		held, err = force(ctx, c, s)
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

func force(ctx context.Context, c *rueidisson.Client, s *state) (held bool, err error) {
	kind := s.kind()
	if kind.force == nil {
		return false, failed(fmt.Errorf("force unlock %q: %w: %q", s.name, rueidisson.ErrFamily, kind.name))
	}
	if held, err = kind.force(ctx, c, s.name); err != nil {
		return false, failed(err)
	}
	return held, nil
}
