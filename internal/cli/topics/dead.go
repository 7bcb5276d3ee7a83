package topics

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/internal/cli/values"
	"github.com/rueidisson/rueidisson/topic"
)

// putAside is what a group of a stream, or a durable name of a topic, has put aside.
type putAside struct {
	name, by string
	all      iter.Seq2[deadEntry, error]
	redrive  func(ctx context.Context) (int64, error)
	purge    func(ctx context.Context) (int64, error)
}

// deadEntry is one of those, as far as it is known; its content is in the bytes of the codecs.
type deadEntry struct {
	id       string
	attempts int64
	cause    string
	buried   time.Time
	fields   map[string]string // of a topic: the message, without a name
}

// deadKind is a kind of object that has entries put aside.
type deadKind struct {
	command string // "topic"
	by      string // "DURABLE", the argument after NAME
	whose   string // "a durable name of a topic"
	what    string // "messages"
	example string // arguments
	of      func(cmd *cobra.Command, name, by string, do func(putAside) error) error
	keys    func() codec.Family // of the names of fields; nil: there are none
	values  func() codec.Family
}

const deadLong = `dead shows the %[1]s that %[2]s has put aside,
since they failed again and again, or it was told to. They are the oldest first, each on a
line, with tabs between: its ID, how often it was tried, why, and
%[3]s. What has something that is not printable is quoted as Go
does it. What cannot be decoded is told on standard error with its ID, the others are
shown, and the exit code is 69.

With --json an object in each line: {"id", "attempts", "cause", "when", %[4]s}.

See "rueidisson %[5]s --help" for codecs and exit codes.`

const redriveLong = `redrive has what %[2]s has put aside come to it again, and to
no other, with attempts that count anew. It prints how many.%[3]s

With --json: {"name", "%[4]s", "redriven"}.

Exit codes:
  1    none comes again
  see "rueidisson %[1]s --help" for the others`

const purgeLong = `purge deletes what %[2]s has put aside. It prints how many.

With --json: {"name", "%[3]s", "purged"}.

Exit codes:
  1    none was there
  see "rueidisson %[1]s --help" for the others`

// deadCommands returns dead, redrive and purge.
func deadCommands(t *tool.Tool, k deadKind) []*cobra.Command {
	word := strings.ToLower(k.by)
	content, inJSON, note := "the message", `"message"`, ""
	if k.keys != nil {
		content, inJSON, note = "its fields, each as NAME=VALUE", `"fields"`, " What the stream has no more stays aside."
	}
	dead := &cobra.Command{
		Use:   "dead NAME " + k.by,
		Short: "Show what " + k.whose + " has put aside",
		Long:  fmt.Sprintf(deadLong, k.what, k.whose, content, inJSON, k.command),
		Example: fmt.Sprintf(`  rueidisson %[1]s dead %[2]s
  rueidisson %[1]s dead %[2]s --json`, k.command, k.example),
	}
	dead.RunE = func(cmd *cobra.Command, args []string) error {
		return k.of(cmd, args[0], args[1], func(p putAside) error { return showDead(t, k, p) })
	}
	redrive := deadCount(t, k, "redriven", func(p putAside) func(context.Context) (int64, error) { return p.redrive })
	redrive.Use, redrive.Short = "redrive NAME "+k.by, "Have what was put aside come again"
	redrive.Long = fmt.Sprintf(redriveLong, k.command, k.whose, note, word)
	redrive.Example = "  rueidisson " + k.command + " redrive " + k.example
	purge := deadCount(t, k, "purged", func(p putAside) func(context.Context) (int64, error) { return p.purge })
	purge.Use, purge.Short = "purge NAME "+k.by, "Delete what was put aside"
	purge.Long = fmt.Sprintf(purgeLong, k.command, k.whose, word)
	purge.Example = "  rueidisson " + k.command + " purge " + k.example
	all := []*cobra.Command{dead, redrive, purge}
	for _, cmd := range all {
		cmd.Args = usage.Exactly(2, "NAME and "+k.by+" are")
	}
	return all
}

// deadCount returns a command that prints for how many it has done something.
func deadCount(t *tool.Tool, k deadKind, did string, of func(putAside) func(context.Context) (int64, error)) *cobra.Command {
	return &cobra.Command{RunE: func(cmd *cobra.Command, args []string) error {
		return k.of(cmd, args[0], args[1], func(p putAside) error {
			n, err := of(p)(cmd.Context())
			if err != nil {
				return err
			}
			report := deadCounted{Name: p.name}
			if k.keys == nil {
				report.Durable = p.by
			} else {
				report.Group = p.by
			}
			if did == "purged" {
				report.Purged = &n
			} else {
				report.Redriven = &n
			}
			if err := t.TellDone(report, "%d\n", n); err != nil || n > 0 {
				return err
			}
			return &exit.Error{Code: exit.Refused}
		})
	}}
}

// deadCounted is for how many something was done, in JSON.
type deadCounted struct {
	Name     string `json:"name"`
	Durable  string `json:"durable,omitempty"`
	Group    string `json:"group,omitempty"`
	Redriven *int64 `json:"redriven,omitempty"`
	Purged   *int64 `json:"purged,omitempty"`
}

func showDead(t *tool.Tool, k deadKind, p putAside) error {
	var wrong error
	for it, err := range p.all {
		if err == nil {
			err = showDeadEntry(t, k, p.name, it)
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, codec.ErrDecode) {
			return err
		}
		if wrong != nil {
			t.Say("%v", wrong)
		}
		wrong = fmt.Errorf("%s: %w", it.id, err)
	}
	return wrong
}

// shownAside is what was put aside in JSON.
type shownAside struct {
	ID       string         `json:"id"`
	Attempts int64          `json:"attempts"`
	Cause    string         `json:"cause"`
	When     time.Time      `json:"when"`
	Message  any            `json:"message,omitempty"`
	Fields   map[string]any `json:"fields,omitempty"`
	Base64   bool           `json:"base64,omitempty"`
}

func showDeadEntry(t *tool.Tool, k deadKind, name string, it deadEntry) error {
	shown := shownAside{ID: it.id, Attempts: it.attempts, Cause: it.cause, When: it.buried.UTC()}
	cause := values.Value{Text: it.cause}
	line := []string{it.id, fmt.Sprint(it.attempts), cause.Line()}
	for _, field := range slices.Sorted(maps.Keys(it.fields)) {
		v, err := values.Decode(k.values(), it.fields[field])
		if err != nil {
			return &codec.DecodeError{Name: name, Key: it.id, Bytes: []byte(it.fields[field]), Cause: err}
		}
		shown.Base64 = shown.Base64 || v.Base64
		if k.keys == nil {
			shown.Message = v.JSON()
			line = append(line, v.Line())
			continue
		}
		of, err := values.Decode(k.keys(), field)
		if err != nil {
			return &codec.DecodeError{Name: name, Key: it.id, Bytes: []byte(field), Cause: err}
		}
		if shown.Fields == nil {
			shown.Fields = map[string]any{}
		}
		shown.Fields[of.Text] = v.JSON()
		line = append(line, of.Line()+"="+v.Line())
	}
	if t.JSON {
		t.SayJSON(t.Stdout, shown)
	} else {
		fmt.Fprintln(t.Stdout, strings.Join(line, "\t"))
	}
	return nil
}

// deadCommands returns those of the durable names of a topic.
func (c *topicCall) deadCommands() []*cobra.Command {
	return deadCommands(c.Tool, deadKind{
		command: "topic", by: "DURABLE", whose: "a durable name of a reliable topic", what: "messages", example: "orders billing",
		of:     c.ofDurable,
		values: func() codec.Family { return c.messages },
	})
}

func (c *topicCall) ofDurable(cmd *cobra.Command, name, by string, do func(putAside) error) error {
	if c.sharded {
		return exit.Usagef("--sharded is not for %s: only a reliable topic has durable names", cmd.Name())
	}
	if err := c.family(); err != nil {
		return err
	}
	return c.WithClient(func(client *rueidisson.Client) error {
		// The length is one of Publish, which nobody calls here.
		d := topic.NewReliable[string](client, name, asBytes(), topic.WithMaxLength(1)).Durable(by)
		return do(putAside{name: name, by: by, redrive: d.Redrive, purge: d.PurgeDead, all: func(yield func(deadEntry, error) bool) {
			for it, err := range d.Dead(cmd.Context()) {
				if !yield(deadEntry{it.ID, it.Attempts, it.Cause, it.Buried, map[string]string{"": it.Value}}, err) {
					return
				}
			}
		}})
	})
}
