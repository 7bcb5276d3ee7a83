package scan

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
)

// Scanner looks through the keys of all masters, up to a bound.
type Scanner struct {
	*tool.Tool
	Redis rueidis.Client
	most  int64
	more  bool // there are keys that were not looked at
	told  bool // of them
}

// scanBatch is how many keys a server looks at in one call, which keeps others
// waiting for less than a millisecond.
const scanBatch = 1000

// LongestState is more than any rule or bucket takes: of other strings no more
// is read.
const LongestState = 512

// AddFlag adds the flag of the bound.
func (s *Scanner) AddFlag(cmd *cobra.Command) {
	cmd.Flags().Int64Var(&s.most, "scan", 1_000_000, "look at no more than about `N` keys of Redis")
}

// Check checks the flag of the bound.
func (s *Scanner) Check() error {
	if s.most < 1 {
		return exit.Usagef("--scan %d: at least 1", s.most)
	}
	return nil
}

// WithRedis runs do on a connection of its own, in addition to the client's.
func (s *Scanner) WithRedis(do func(c *rueidisson.Client) error) error {
	return s.WithClient(func(c *rueidisson.Client) error {
		var err error
		if s.Redis, err = s.Dial(); err != nil {
			return err
		}
		defer s.Redis.Close()
		return do(c)
	})
}

// Strings hands on the strings whose keys match, a part of them at a time, with
// their server's clock in µs. A key may come twice.
func (s *Scanner) Strings(ctx context.Context, pattern string, do func(now int64, texts map[string]string)) error {
	return s.pages(ctx, pattern, "string", func(node rueidis.Client, keys []string) error {
		now, texts, err := read(ctx, node, keys)
		if err == nil {
			do(now, texts)
		}
		return err
	})
}

// Keys hands on the keys of a type that match, a part of them at a time. A key may come twice.
func (s *Scanner) Keys(ctx context.Context, pattern, is string, do func(keys []string) error) error {
	return s.pages(ctx, pattern, is, func(_ rueidis.Client, keys []string) error { return do(keys) })
}

// pages hands on what SCAN of each master answers.
func (s *Scanner) pages(ctx context.Context, pattern, is string, do func(node rueidis.Client, keys []string) error) error {
	masters, err := s.Masters(ctx)
	if err != nil {
		return err
	}
	for _, node := range masters {
		if err := s.node(ctx, node, pattern, is, max(1, s.most/int64(len(masters))), do); err != nil {
			return err
		}
	}
	if s.more && !s.told {
		s.told = true
		s.tellMore()
	}
	return nil
}

func (s *Scanner) tellMore() {
	text := fmt.Sprintf("there are more keys than the %d that were looked at: --scan N looks at more", s.most)
	if s.JSON {
		s.SayJSON(s.Stderr, struct {
			Message string `json:"message"`
		}{text})
		return
	}
	fmt.Fprintln(s.Stderr, text)
}

// Masters returns the servers that have keys of their own.
func (s *Scanner) Masters(ctx context.Context) (all []rueidis.Client, err error) {
	nodes := s.Redis.Nodes()
	for _, node := range nodes {
		if len(nodes) == 1 {
			return []rueidis.Client{node}, nil
		}
		role, err := node.Do(ctx, node.B().Role().Build()).ToArray()
		if err != nil {
			return nil, err
		}
		if is, _ := role[0].ToString(); is == "master" {
			all = append(all, node)
		}
	}
	return all, nil
}

func (s *Scanner) node(ctx context.Context, node rueidis.Client, pattern, is string, most int64, do func(rueidis.Client, []string) error) error {
	cursor := uint64(0)
	for looked := int64(0); ; {
		batch := min(scanBatch, most-looked)
		found, err := node.Do(ctx, node.B().Scan().Cursor(cursor).Match(pattern).Count(batch).Type(is).Build()).AsScanEntry()
		if err != nil {
			return err
		}
		if err := do(node, found.Elements); err != nil {
			return err
		}
		looked, cursor = looked+batch, found.Cursor
		if cursor == 0 {
			return nil
		}
		if looked >= most {
			s.more = true
			return nil
		}
	}
}

// read asks for the strings of keys, and for the time. What another server has
// by now, or has ended, is left out.
func read(ctx context.Context, node rueidis.Client, keys []string) (now int64, texts map[string]string, err error) {
	cmds := rueidis.Commands{node.B().Time().Build()}
	for _, key := range keys {
		cmds = append(cmds, node.B().Getrange().Key(key).Start(0).End(LongestState).Build())
	}
	answers := node.DoMulti(ctx, cmds...)
	clock, err := answers[0].AsIntSlice()
	if err != nil || len(clock) != 2 {
		return 0, nil, fmt.Errorf("TIME said %v: %w", clock, err)
	}
	texts = make(map[string]string, len(keys))
	for i, key := range keys {
		text, err := answers[i+1].ToString()
		if _, refused := rueidis.IsRedisErr(err); err != nil && !refused {
			return 0, nil, err
		}
		texts[key] = text
	}
	return clock[0]*1_000_000 + clock[1], texts, nil
}
