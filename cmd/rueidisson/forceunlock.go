package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

const forceUnlockLong = `force-unlock takes the lock NAME away from whoever holds it and wakes those who
wait. The holder is not asked. It learns of it at its next renewal, ten seconds
later by default, or when it unlocks; until then it works on, next to the lock's
new holder. So be sure that it is gone: a lock whose holder has crashed comes
free by itself when the lease is over, see "rueidisson inspect".

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
	c, err := connect(t.url)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	held, err := c.Lock(name).ForceUnlock(ctx)
	if err != nil {
		return failed(err)
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
