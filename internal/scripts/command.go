package scripts

import (
	"context"
	"strings"

	"github.com/redis/rueidis"
)

// Command is a plain command, for what needs no script. It goes to the master,
// as scripts do.
type Command struct {
	words  []string
	replay Replay
}

// NewCommand returns the command of that name, such as "DEL" or "XGROUP CREATE",
// with what a second run of the same call does. Its keys come before its
// arguments.
func NewCommand(name string, replay Replay) *Command {
	return &Command{strings.Fields(name), replay}
}

// Label returns the command's name.
func (c *Command) Label() string { return strings.Join(c.words, " ") }

// Repeatable says that a second run of the same call does no harm.
func (c *Command) Repeatable() bool { return c.replay >= Safe }

// OnlyReads says that the command changes nothing.
func (c *Command) OnlyReads() bool { return c.replay == Reads }

// LosesNothing says that a lost reply costs no more than not knowing whether the call ran.
func (c *Command) LosesNothing() bool { return c.replay != Unsafe }

// Exec sends the command once.
func (c *Command) Exec(ctx context.Context, client rueidis.Client, keys, args []string) rueidis.RedisResult {
	return client.Do(ctx, c.build(client, Call{keys, args}, false))
}

// ExecBehind sends the command once, right behind another in the same pipeline.
// What others send may come in between.
func (c *Command) ExecBehind(ctx context.Context, client rueidis.Client, other *Command, before, own Call, fresh bool) (first, second rueidis.RedisResult) {
	res := client.DoMulti(ctx, other.build(client, before, fresh), c.build(client, own, fresh))
	return res[0], res[1]
}

func (c *Command) build(client rueidis.Client, call Call, fresh bool) rueidis.Completed {
	cmd := client.B().Arbitrary(c.words...).Keys(call.Keys...).Args(call.Args...)
	if fresh {
		return cmd.Blocking()
	}
	return cmd.Build()
}

// Build returns the command, for a pipeline with others; if fresh, on a connection of rueidis' blocking pool.
func (c *Command) Build(client rueidis.Client, keys, args []string, fresh bool) rueidis.Completed {
	return c.build(client, Call{keys, args}, fresh)
}

// ExecFollowed is [Script.ExecFollowed] of a command.
func (c *Command) ExecFollowed(ctx context.Context, client rueidis.Client, keys, args []string, next *Script, fresh bool) (first, second rueidis.RedisResult) {
	res := client.DoMulti(ctx, c.build(client, Call{keys, args}, fresh), next.build(client, "EVALSHA", next.sha(), keys[:1], nil, fresh))
	if first, second = res[0], res[1]; Missing(second) {
		second = client.Do(ctx, next.build(client, "EVAL", next.Body(), keys[:1], nil, fresh))
	}
	return first, second
}

// ExecFresh sends the command once, on a connection of rueidis' blocking pool.
func (c *Command) ExecFresh(ctx context.Context, client rueidis.Client, keys, args []string) rueidis.RedisResult {
	return client.Do(ctx, c.build(client, Call{keys, args}, true))
}
