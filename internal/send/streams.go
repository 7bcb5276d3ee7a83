package send

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/scripts"
)

var lengthScript = scripts.Must(lua, "lua/length.lua")

// StreamLength returns how many entries a stream has. It asks by a script: miniredis
// answers an XLEN of another type twice, which no client bears.
func (s *Sender) StreamLength(ctx context.Context, key string) (int64, error) {
	return Number(s.Run(ctx, lengthScript, []string{key}, nil))
}

// ReadGroup is XREADGROUP of one stream for what its group was not given yet: its key is not its
// first word. Its arguments are the group, the consumer and how many entries. A second run reads
// further; what the first has read comes again later. ReadGroupOnce is sent once: its caller asks for
// what was lost before it reads further.
var (
	ReadGroup     = Sized(readGroup{}, Sizing{Writes: true})
	ReadGroupOnce = Sized(readGroup{once: true}, Sizing{Writes: true})
)

type readGroup struct{ once bool }

func (readGroup) Label() string      { return "XREADGROUP" }
func (r readGroup) Repeatable() bool { return !r.once }

func (readGroup) Exec(ctx context.Context, c rueidis.Client, keys, args []string) rueidis.RedisResult {
	return c.Do(ctx, readingGroup(c, keys, args).Build())
}

func (readGroup) ExecFresh(ctx context.Context, c rueidis.Client, keys, args []string) rueidis.RedisResult {
	return c.Do(ctx, readingGroup(c, keys, args).Blocking())
}

func readingGroup(c rueidis.Client, keys, args []string) interface {
	Build() rueidis.Completed
	Blocking() rueidis.Completed
} {
	return c.B().Arbitrary("XREADGROUP", "GROUP").Args(args[0], args[1], "COUNT", args[2], "STREAMS").Keys(keys...).Args(">")
}

var groupsOf = scripts.NewCommand("XINFO GROUPS", scripts.Reads)

// LastDelivered returns the id of the last entry that a group of a stream was given, or "" if the stream
// has no such group.
func (s *Sender) LastDelivered(ctx context.Context, key, group string) (string, error) {
	got, err := s.Run(ctx, groupsOf, []string{key}, nil)
	if err != nil {
		return "", err
	}
	all, err := got.ToArray()
	if err != nil {
		return "", err
	}
	for _, g := range all {
		about, err := g.AsMap()
		if err != nil {
			return "", err
		}
		name, last := about["name"], about["last-delivered-id"]
		if text, _ := name.ToString(); text == group {
			return last.ToString()
		}
	}
	return "", nil
}
