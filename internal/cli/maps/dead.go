package maps

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/writethrough"
)

// written is a map with write-behind, whose writing is done by other processes.
type written = writethrough.Map[string, string]

// withWritten runs do on the map as a written one.
func (m *mapCall) withWritten(name string, do func(w *written) error) error {
	if m.sharded {
		return exit.Usagef("--sharded is not for changes that are written behind")
	}
	return m.open(func(c *rueidisson.Client, as rmap.MapOption) error {
		others := []writethrough.Option{writethrough.WithBehind(1), writethrough.WithOthersWriting()}
		switch {
		case m.cache:
			return do(writethrough.New(rmap.NewCache[string, string](c, name, as), nil, others...))
		case m.native:
			return do(writethrough.New(rmap.NewTTLMap[string, string](c, name, as), nil, others...))
		}
		return do(writethrough.New(rmap.New[string, string](c, name, as), nil, others...))
	})
}

const mapDeadLong = `dead shows the changes that are written behind and that the store has not taken, the
oldest first, each on a line, with tabs between: its ID, what it is (put or removed),
"overtaken" if something newer of the entry came since, else -, the key, the value, and
why. What has something that is not printable is quoted as Go does it. What cannot be
decoded is told on standard error with its ID, the others are shown, and the exit code
is 69.

With --json an object in each line: {"id", "key", "value", "removed", "overtaken",
"when", "cause"}.

See "rueidisson map --help" for codecs and exit codes.`

func (m *mapCall) deadCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "dead NAME",
		Short: "Show changes that the store of a map has not taken",
		Long:  mapDeadLong,
		Example: `  rueidisson map dead stock
  rueidisson map dead stock --json`,
		Args: usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.withWritten(args[0], func(w *written) error { return m.dead(cmd.Context(), w) })
		},
	}
}

func (m *mapCall) dead(ctx context.Context, w *written) error {
	var wrong error
	for c, err := range w.Dead(ctx) {
		if err == nil {
			err = m.showDead(w.Name(), c)
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, codec.ErrDecode) {
			return err
		}
		if wrong != nil {
			m.Say("%v", wrong)
		}
		wrong = fmt.Errorf("%s: %w", c.ID, err)
	}
	return wrong
}

// shownDead is a dead change in JSON.
type shownDead struct {
	ID string `json:"id"`
	shownEntry
	Removed   bool      `json:"removed"`
	Overtaken bool      `json:"overtaken"`
	When      time.Time `json:"when"`
	Cause     string    `json:"cause"`
}

func (m *mapCall) showDead(name string, c writethrough.DeadChange[string, string]) error {
	k, err := values.Decode(m.keys, c.Key)
	if err != nil {
		return &codec.DecodeError{Name: name, Key: c.Key, Bytes: []byte(c.Key), Cause: err}
	}
	var v values.Value
	what, overtaken := "removed", "-"
	if !c.Removed {
		what = "put"
		if v, err = values.Decode(m.values, c.Value); err != nil {
			return &codec.DecodeError{Name: name, Key: c.Key, Bytes: []byte(c.Value), Cause: err}
		}
	}
	if c.Overtaken {
		overtaken = "overtaken"
	}
	cause := values.Value{Text: c.Cause}
	if !m.JSON {
		fmt.Fprintf(m.Stdout, "%s\t%s\t%s\t%s\t%s\t%s\n", c.ID, what, overtaken, k.Line(), v.Line(), cause.Line())
		return nil
	}
	shown := shownDead{ID: c.ID, Removed: c.Removed, Overtaken: c.Overtaken, When: c.When.UTC(), Cause: c.Cause}
	shown.shownEntry = shownEntry{Key: k.Text, KeyBase64: k.Base64, Base64: v.Base64}
	if !c.Removed {
		shown.Value = v.JSON()
	}
	m.SayJSON(m.Stdout, shown)
	return nil
}

const mapRedriveLong = `redrive has dead changes written to the store again, by the services that do: those of
the IDs, or all. One that was overtaken by something newer of its entry stays dead. It
prints how many it has queued.

With --json: {"name", "redriven"}.

Exit codes:
  1    none was queued
  see "rueidisson map --help" for codecs and the others`

func (m *mapCall) redriveCommand() *cobra.Command {
	return m.deadAreTo(&cobra.Command{
		Use:   "redrive NAME [ID...]",
		Short: "Have dead changes of a map written again",
		Long:  mapRedriveLong,
		Example: `  rueidisson map redrive stock
  rueidisson map redrive stock 1795356000123-0`,
	}, func(ctx context.Context, w *written, ids []string) (n int64, report any, err error) {
		n, err = w.Redrive(ctx, ids...)
		return n, struct {
			Name     string `json:"name"`
			Redriven int64  `json:"redriven"`
		}{w.Name(), n}, err
	})
}

const mapPurgeLong = `purge drops dead changes: those of the IDs, or all. It prints how many.

With --json: {"name", "purged"}.

Exit codes:
  1    none was dead
  see "rueidisson map --help" for codecs and the others`

func (m *mapCall) purgeCommand() *cobra.Command {
	return m.deadAreTo(&cobra.Command{
		Use:   "purge NAME [ID...]",
		Short: "Drop dead changes of a map",
		Long:  mapPurgeLong,
		Example: `  rueidisson map purge stock
  rueidisson map purge stock 1795356000123-0`,
	}, func(ctx context.Context, w *written, ids []string) (n int64, report any, err error) {
		n, err = w.Purge(ctx, ids...)
		return n, struct {
			Name   string `json:"name"`
			Purged int64  `json:"purged"`
		}{w.Name(), n}, err
	})
}

// deadAreTo has cmd do it to the dead changes of a map.
func (m *mapCall) deadAreTo(cmd *cobra.Command, do func(ctx context.Context, w *written, ids []string) (n int64, report any, err error)) *cobra.Command {
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return exit.Usagef("NAME is needed")
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return m.withWritten(args[0], func(w *written) error {
			n, report, err := do(cmd.Context(), w, args[1:])
			if err != nil {
				return err
			}
			if m.JSON {
				m.SayJSON(m.Stdout, report)
			} else {
				fmt.Fprintln(m.Stdout, n)
			}
			if n == 0 {
				return errNoEntry
			}
			return nil
		})
	}
	return cmd
}
