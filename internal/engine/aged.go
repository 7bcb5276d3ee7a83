package engine

import (
	"context"
	"slices"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/scripts"
)

// aged is a script under a lane whose further sends say how old the request is.
type aged struct {
	*scripts.Script
	r    Request
	at   int // where the age stands in the arguments
	sent bool
}

// Aged returns s for one [Engine.Run] of r. Its first send goes out with the arguments
// as they are. Each further send has the age of r in µs in args[at].
func Aged(s *scripts.Script, r Request, at int) Operation { return &aged{Script: s, r: r, at: at} }

func (a *aged) Exec(ctx context.Context, c rueidis.Client, keys, args []string) rueidis.RedisResult {
	return a.Script.Exec(ctx, c, keys, a.grown(args))
}

func (a *aged) ExecFresh(ctx context.Context, c rueidis.Client, keys, args []string) rueidis.RedisResult {
	return a.Script.ExecFresh(ctx, c, keys, a.grown(args))
}

func (a *aged) grown(args []string) []string {
	if a.sent {
		args = slices.Clone(args)
		args[a.at] = strconv.FormatInt(a.r.Age().Microseconds(), 10)
	}
	a.sent = true
	return args
}
