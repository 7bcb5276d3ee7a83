package attempts

import (
	"context"
	"strings"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

var groups = scripts.NewCommand("XINFO GROUPS", scripts.Reads)

// Lag returns how many entries of a stream a group has not acknowledged, given or not; 0 where
// there is no such group.
func Lag(ctx context.Context, e *locking.Engine, key, group string) (int64, error) {
	return send.Reading(e.Sender, ctx, func() (int64, error) { return lag(ctx, e, key, group) })
}

func lag(ctx context.Context, e *locking.Engine, key, group string) (int64, error) {
	got, err := e.Run(ctx, groups, []string{key}, nil)
	if err != nil && strings.Contains(err.Error(), "no such key") {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	all, err := got.ToArray()
	if err != nil {
		return 0, err
	}
	for _, g := range all {
		about, err := g.AsMap()
		if err != nil {
			return 0, err
		}
		name, pending, last, read, fresh := about["name"], about["pending"], about["last-delivered-id"], about["entries-read"], about["lag"]
		if text, _ := name.ToString(); text != group {
			continue
		}
		n, err := pending.AsInt64()
		if err != nil {
			return 0, err
		}
		if more, err := fresh.AsInt64(); err == nil && !read.IsNil() { // else it is an estimate
			return n + more, nil
		}
		from, err := last.ToString()
		if err != nil {
			return 0, err
		}
		more, err := behind(ctx, e, key, from)
		return n + more, err
	}
	return 0, nil
}

// behind counts the entries behind an ID.
func behind(ctx context.Context, e *locking.Engine, key, id string) (n int64, err error) {
	for {
		got, err := e.Run(ctx, xrange, []string{key}, []string{"(" + id, "+", "COUNT", "100"})
		var some []rueidis.XRangeSlice
		if err == nil && !got.Nil {
			some, err = got.AsXRangeSlices()
		}
		if err != nil {
			return 0, err
		}
		if n += int64(len(some)); len(some) < page {
			return n, nil
		}
		id = some[len(some)-1].ID
	}
}
