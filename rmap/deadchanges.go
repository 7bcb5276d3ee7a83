package rmap

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

var (
	behindDeadScript    = scripts.Must(lua, "lua/behind_dead.lua")
	behindRedriveScript = scripts.Must(lua, "lua/behind_redrive.lua")
	behindPurgeScript   = scripts.Must(lua, "lua/behind_purge.lua")
)

// deadPage is how many dead changes are read, or redriven, at a time.
const deadPage = 500

// deadEntry is a dead change, as the server has it.
type deadEntry struct {
	id, key, why string
	to           value
	overtaken    bool
}

func (s *sender) dead(ctx context.Context, from string, skip int) (all []deadEntry, err error) {
	on := []string{s.key, keys.MapPending(s.key), keys.MapDead(s.key), keys.MapDeadLast(s.key)}
	got, err := s.h.e.Run(ctx, behindDeadScript, on, []string{from, decimal(deadPage), decimal(mostWritten), decimal(int64(skip))})
	if err != nil {
		return nil, err
	}
	parts, err := got.ToArray()
	if err != nil {
		return nil, err
	}
	var entries []rueidis.XRangeEntry
	if entries, err = parts[0].AsXRange(); err != nil {
		return nil, err
	}
	overtaken, err := parts[1].AsIntSlice()
	if err != nil {
		return nil, err
	}
	for i, e := range entries {
		all = append(all, deadEntry{e.ID, e.FieldValues["k"], e.FieldValues["why"], seenAs(e.FieldValues["v"]), overtaken[i] == 1})
	}
	return all, nil
}

// redriven is what became of some ids. It is full, and nothing was done, where so many
// changes are queued.
type redriven struct {
	queued, through int64
	full            bool
}

func (s *sender) redrive(ctx context.Context, most, skip int, ids []string) (did redriven, err error) {
	on := []string{s.key, keys.MapWrites(s.key), keys.MapPending(s.key), keys.MapDead(s.key), keys.MapDeadLast(s.key)}
	args := append([]string{decimal(int64(most)), decimal(int64(skip)), s.h.requests.ID()}, ids...)
	got, err := s.h.e.Run(ctx, behindRedriveScript, on, args)
	if err != nil || got.Nil {
		return redriven{full: err == nil}, err
	}
	all, err := got.AsIntSlice()
	if err != nil {
		return did, err
	}
	return redriven{queued: all[0], through: min(all[1], int64(len(ids)))}, nil
}

// purge drops dead changes of these ids, all if there are none.
func (s *sender) purge(ctx context.Context, ids []string) (int64, error) {
	return send.Number(s.h.e.Run(ctx, behindPurgeScript, []string{keys.MapDead(s.key), keys.MapDeadLast(s.key)}, ids))
}
