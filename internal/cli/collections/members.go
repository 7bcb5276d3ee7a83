package collections

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/scan"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/cli/usage"
	"github.com/rueidisson/rueidisson/internal/cli/values"
)

// Commands returns the commands of counters, ids, Bloom filters, sets, sorted sets, and keys.
func Commands(t *tool.Tool) []*cobra.Command {
	return []*cobra.Command{counterCommand(t), idCommand(t), bloomCommand(t), setCommand(t), sortedCommand(t), keysCommand(t)}
}

// noun returns the command above some others.
func noun(use, short, long, example string, below ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Args: usage.NoSuchCommand,
		RunE: func(*cobra.Command, []string) error { return exit.Usagef("a command is needed after %s", use) },
	}
	cmd.AddCommand(below...)
	return cmd
}

// members is what the commands on values have in common. Values are bytes to the library here: it is the command line that
// knows their codec.
type members struct {
	*tool.Tool
	family, as string

	codec codec.Family
}

func (m *members) addFlags(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&m.family, "codec", "text", "`F` of the values")
}

// addType adds the flag of commands that take values.
func (m *members) addType(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&m.as, "as", "string", "VALUE is a `TYPE`: string, int, float, bool, json, base64")
	return cmd
}

// someValues is for commands that take NAME and values.
func someValues(_ *cobra.Command, args []string) error {
	if len(args) < 2 {
		return exit.Usagef("NAME and a VALUE are needed, not %d arguments", len(args))
	}
	return nil
}

// with runs do with a client.
func (m *members) with(do func(c *rueidisson.Client) error) (err error) {
	if m.codec, err = codec.ParseFamily(m.family); err != nil {
		return exit.Usagef("--codec %s: %v", m.family, err)
	}
	return m.WithClient(do)
}

// each hands on the values that are typed, or some lines of standard input at a time: as they were given, and as they are
// stored.
func (m *members) each(ctx context.Context, given []string, do func(given, stored []string) error) error {
	encoded := func(given []string) error {
		stored := make([]string, len(given))
		for i, text := range given {
			var err error
			if stored[i], err = values.Encode(m.codec, text, m.as); err != nil {
				return &lineError{at: i, error: err}
			}
		}
		return do(given, stored)
	}
	return m.eachText(ctx, given, encoded)
}

// lineError is an error about one of some texts.
type lineError struct {
	error
	at   int // which one, from 0
	done int // how many were done before
}

func (e *lineError) Unwrap() error { return e.error }

// named returns the error with the number of its line, and its exit code.
func (e *lineError) named(line int64) error {
	var end *exit.Error
	if errors.As(e.error, &end) {
		return &exit.Error{Code: end.Code, Err: fmt.Errorf("line %d of standard input: %w", line, end.Err)}
	}
	return fmt.Errorf("line %d of standard input: %w", line, e.error)
}

// eachText hands on the texts that are typed, or some lines of standard input at a time. A [lineError] of do names its line.
func (m *members) eachText(ctx context.Context, given []string, do func(texts []string) error) error {
	if !tool.AreLines(given) {
		return do(given)
	}
	p := m.NewProgress("values")
	err := m.EachBatch(ctx, func(lines []string) error {
		err := do(lines)
		var one *lineError
		switch {
		case err == nil:
			p.Add(len(lines))
		case errors.As(err, &one):
			err = one.named(p.Done() + int64(one.at) + 1)
			p.Add(one.done)
		}
		return err
	})
	p.End()
	if err != nil && p.Done() > 0 {
		m.Note("%d lines of standard input were done before", p.Done())
	}
	return err
}

// shown is a value in JSON.
type shown struct {
	Rank   *int64   `json:"rank,omitempty"`
	Score  *float64 `json:"score,omitempty"`
	Value  any      `json:"value"`
	Base64 bool     `json:"base64,omitempty"`
}

// value returns what bytes stand for.
func (m *members) value(name, stored string) (values.Value, error) {
	v, err := values.Decode(m.codec, stored)
	if err != nil {
		err = &codec.DecodeError{Name: name, Bytes: []byte(stored), Cause: err}
	}
	return v, err
}

// answer is whether a value is there.
type answer struct {
	Value string `json:"value"`
	Has   bool   `json:"has"`
}

// tellEach shows of each value whether it is there, and reports whether all are.
func (m *members) tellEach(given []string, has []bool) (all bool) {
	all = true
	for i, text := range given {
		all = all && has[i]
		if m.JSON {
			m.SayJSON(m.Stdout, answer{text, has[i]})
			continue
		}
		fmt.Fprintf(m.Stdout, "%v\t%s\n", has[i], values.Printable(text))
	}
	return all
}

// has shows of each value whether it is there. That one is not is an answer.
func (m *members) has(ctx context.Context, given []string, ask func(stored []string) ([]bool, error)) error {
	all := true
	err := m.each(ctx, given, func(given, stored []string) error {
		has, err := ask(stored)
		if err == nil {
			all = m.tellEach(given, has) && all
		}
		return err
	})
	if err == nil && !all {
		err = &exit.Error{Code: exit.Refused}
	}
	return err
}

// sum adds up what do says of the values, some at a time.
func (m *members) sum(ctx context.Context, given []string, do func(stored []string) (int64, error)) (all int64, err error) {
	err = m.each(ctx, given, func(_, stored []string) error {
		n, err := do(stored)
		all += n
		return err
	})
	return all, err
}

// looks looks at the server by a connection of its own, and again after a passing refusal.
func looks(ctx context.Context, t *tool.Tool, c *rueidisson.Client, look func(redis rueidis.Client) error) error {
	redis, err := t.Dial()
	if err != nil {
		return err
	}
	defer redis.Close()
	return scan.Patiently(ctx, c, func() error { return look(redis) })
}

// show shows a value: in a line after a text, or as JSON.
func (m *members) show(name, stored string, as shown, before string) error {
	v, err := m.value(name, stored)
	if err != nil {
		return err
	}
	if !m.JSON {
		fmt.Fprintf(m.Stdout, "%s%s\n", before, v.Line())
		return nil
	}
	as.Value, as.Base64 = v.JSON(), v.Base64
	m.SayJSON(m.Stdout, as)
	return nil
}
