package maps

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/rmap"
)

const mapWatchLong = `watch shows what happens to the entries of a cache (--cache), whether Go or Java
writes it: created, updated, removed or expired, the key, the value, and of an update the
one from before, with tabs between them. "gap" stands where some may have been missed,
since the connection was lost or the reader is too slow. What cannot be decoded is told
on standard error, which also has a line when the server is lost, and one when it is
back. Ctrl-C ends it, or --for, both with exit code 0; so does an error, with its code.
If --for is over while the server is away, the exit code is 69.

A watch sweeps what has expired. From the first one on all who write to the cache
publish what they do.

With --json an object in each line: {"time", "event", "key", "value", "old"}, of a gap
{"time", "event"}.

See "rueidisson map --help" for codecs and exit codes.`

const mapWatchExample = `  rueidisson map watch sessions --cache
  rueidisson map watch sessions --cache --for 1m --json >> sessions.jsonl`

func (m *mapCall) watchCommand() *cobra.Command {
	var length time.Duration // 0: until it is interrupted
	cmd := &cobra.Command{
		Use:     "watch NAME",
		Short:   "Show what happens to the entries of a cache",
		Long:    mapWatchLong,
		Example: mapWatchExample,
		Args:    usage.OneName,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !m.cache:
				return exit.Usagef("watch is for --cache: other maps tell nobody of what happens")
			case cmd.Flags().Changed("for") && length <= 0:
				return exit.Usagef("--for %v is not positive", length)
			}
			return m.open(func(c *rueidisson.Client, as rmap.MapOption) error {
				waiting, stop := run.Interruptible(cmd.Context())
				defer stop()
				return run.UnlessOver(waiting, m.Present(waiting, func(p *tool.Presence) error {
					return m.watch(waiting, p, rmap.NewCache[string, string](c, args[0], as), length)
				}))
			})
		},
	}
	cmd.Flags().DurationVar(&length, "for", 0, "end after `D` (default: go on until Ctrl-C)")
	return cmd
}

var errWatched = errors.New("it was watched for as long as was asked")

func (m *mapCall) watch(ctx context.Context, p *tool.Presence, of *rmap.Cache[string, string], length time.Duration) error {
	if length > 0 {
		bounded, cancel := context.WithTimeoutCause(ctx, length, errWatched)
		defer cancel()
		ctx = bounded
	}
	for ev, err := range of.Events(ctx) {
		if errors.Is(err, errWatched) {
			return p.Over()
		}
		if p.Noticed(err) {
			continue
		}
		if err == nil {
			err = m.tell(of.Name(), ev)
		}
		switch {
		case err == nil:
		case errors.Is(err, codec.ErrDecode):
			m.Say("%v", err)
		default:
			return err
		}
	}
	return nil
}

// toldEvent is an event in JSON.
type toldEvent struct {
	Time      time.Time `json:"time"`
	Event     string    `json:"event"`
	Key       string    `json:"key"`
	KeyBase64 bool      `json:"key_base64,omitempty"`
	Value     any       `json:"value"`
	Base64    bool      `json:"base64,omitempty"`
	Old       any       `json:"old,omitempty"`
	OldBase64 bool      `json:"old_base64,omitempty"`
}

func (m *mapCall) tell(name string, ev rmap.Event[string, string]) (err error) {
	told := toldEvent{Time: time.Now().UTC(), Event: ev.Kind.String()}
	words := []string{told.Event}
	if ev.Kind != rmap.Gap {
		if words, err = m.parts(name, ev, &told); err != nil {
			return err
		}
	}
	switch {
	case !m.JSON:
		fmt.Fprintln(m.Stdout, strings.Join(words, "\t"))
	case ev.Kind == rmap.Gap:
		m.SayJSON(m.Stdout, told.gap())
	default:
		m.SayJSON(m.Stdout, told)
	}
	return nil
}

// parts returns the words of an event, and what it has in JSON.
func (m *mapCall) parts(name string, ev rmap.Event[string, string], told *toldEvent) ([]string, error) {
	k, v, err := m.decode(name, ev.Key, ev.Value)
	if err != nil {
		return nil, err
	}
	told.Key, told.KeyBase64, told.Value, told.Base64 = k.Text, k.Base64, v.JSON(), v.Base64
	words := []string{told.Event, k.Line(), v.Line()}
	if ev.Kind == rmap.Updated {
		_, old, err := m.decode(name, ev.Key, ev.Old)
		if err != nil {
			return nil, err
		}
		told.Old, told.OldBase64, words = old.JSON(), old.Base64, append(words, old.Line())
	}
	return words, nil
}

func (t toldEvent) gap() any {
	return struct {
		Time  time.Time `json:"time"`
		Event string    `json:"event"`
	}{t.Time, t.Event}
}
