package scan

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/spf13/cobra"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/tool"
	"github.com/rueidisson/rueidisson/internal/keywalk"
)

// Scanner looks through the keys of all masters, up to a bound.
type Scanner struct {
	*tool.Tool
	Redis  rueidis.Client
	client *rueidisson.Client
	most   int64
	told   bool // there are keys that were not looked at
}

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
		s.client = c
		return do(c)
	})
}

// Strings hands on the strings whose keys match, a part of them at a time, with
// their server's clock in µs. A key may come again, with what it has then.
func (s *Scanner) Strings(ctx context.Context, pattern string, do func(now int64, texts map[string]string)) error {
	return s.pages(ctx, pattern, "string", func(node rueidis.Client, keys []string) error {
		var now int64
		var texts map[string]string
		err := s.Patiently(ctx, func() (err error) { now, texts, err = s.read(ctx, node, keys); return err })
		if err == nil {
			do(now, texts)
		}
		return err
	})
}

// again is how long a read waits after a passing refusal.
const again = 100 * time.Millisecond

// Patiently calls the function of that name for the scanner's client.
func (s *Scanner) Patiently(ctx context.Context, read func() error) error {
	return Patiently(ctx, s.client, read)
}

// Patiently reads again what a server refuses for a passing reason, for as long as one send of a client may last.
func Patiently(ctx context.Context, c *rueidisson.Client, read func() error) error {
	for until := time.Now().Add(c.Engine().SendTimeout()); ; {
		err := read()
		if err == nil || ctx.Err() != nil || !keywalk.Passes(err) || time.Now().After(until) {
			return err
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Keys hands on the keys of a type that match, a part of them at a time. A key may come again.
func (s *Scanner) Keys(ctx context.Context, pattern, is string, do func(keys []string) error) error {
	return s.pages(ctx, pattern, is, func(_ rueidis.Client, keys []string) error { return do(keys) })
}

// pages hands on what the masters answer. Only the bound lets it pass over keys.
func (s *Scanner) pages(ctx context.Context, pattern, is string, do func(node rueidis.Client, keys []string) error) error {
	err := keywalk.Walk(ctx, s.client.Engine(), keywalk.Query{Pattern: pattern, Type: is, Most: s.most}, keywalk.Visitor{Page: do})
	if !errors.Is(err, keywalk.ErrMore) {
		return err
	}
	if !s.told {
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

// read asks for the strings of keys, and a server for the time. What has ended by now, or has become something else, is
// left out. A key whose slot has moved meanwhile is read where it is.
func (s *Scanner) read(ctx context.Context, node rueidis.Client, keys []string) (now int64, texts map[string]string, err error) {
	clock, err := node.Do(ctx, node.B().Time().Build()).AsIntSlice()
	if err == nil && len(clock) != 2 {
		err = fmt.Errorf("TIME said %v", clock)
	}
	if err != nil {
		return 0, nil, err
	}
	cmds := make(rueidis.Commands, len(keys))
	for i, key := range keys {
		cmds[i] = s.Redis.B().Getrange().Key(key).Start(0).End(LongestState).Build()
	}
	texts = make(map[string]string, len(keys))
	for i, answer := range s.Redis.DoMulti(ctx, cmds...) {
		text, err := answer.ToString()
		switch refused, is := rueidis.IsRedisErr(err); {
		case err == nil && text != "":
			texts[keys[i]] = text
		case err != nil && !(is && others(refused.Error())):
			return 0, nil, err
		}
	}
	return clock[0]*1_000_000 + clock[1], texts, nil
}

// others reports whether a key is not for us, as a refusal says: it has another type by now, or the user has no right to it. A user
// who may not run the command has no right to any.
func others(refusal string) bool {
	return strings.HasPrefix(refusal, "WRONGTYPE") ||
		strings.HasPrefix(refusal, "NOPERM") && !strings.Contains(refusal, "permissions to run the")
}
