package mapstore

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
)

var (
	behindDeadScript    = scripts.Must(Lua, "lua/behind_dead.lua")
	behindRedriveScript = scripts.Must(Lua, "lua/behind_redrive.lua")
	behindPurgeScript   = scripts.Must(Lua, "lua/behind_purge.lua")
)

// DeadPage is how many dead changes are read, or redriven, at a time.
const DeadPage = 500

// DeadEntry is a dead change, as the server has it.
type DeadEntry struct {
	ID, Key, Why string
	To           Value
	Overtaken    bool
}

// Dead returns a page of dead changes, from an id on.
func (s *Sender) Dead(ctx context.Context, from string, skip int) (all []DeadEntry, err error) {
	on := []string{s.Key, keys.MapPending(s.Key), keys.MapDead(s.Key), keys.MapDeadLast(s.Key)}
	got, err := s.Hub.Engine.Run(ctx, behindDeadScript, on, []string{from, Decimal(DeadPage), Decimal(MostWritten), Decimal(int64(skip))})
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
		all = append(all, DeadEntry{e.ID, e.FieldValues["k"], e.FieldValues["why"], seenAs(e.FieldValues["v"]), overtaken[i] == 1})
	}
	return all, nil
}

// Redriven is what became of some ids. It is full, and nothing was done, where so many
// changes are queued.
type Redriven struct {
	Queued, Through int64
	Full            bool
}

// Redrive queues dead changes of these ids, if most are not queued already.
func (s *Sender) Redrive(ctx context.Context, most, skip int, ids []string) (did Redriven, err error) {
	on := []string{s.Key, keys.MapWrites(s.Key), keys.MapPending(s.Key), keys.MapDead(s.Key), keys.MapDeadLast(s.Key)}
	args := append([]string{Decimal(int64(most)), Decimal(int64(skip)), s.Hub.Requests.ID()}, ids...)
	got, err := s.Hub.Engine.Run(ctx, behindRedriveScript, on, args)
	if err != nil || got.Nil {
		return Redriven{Full: err == nil}, err
	}
	all, err := got.AsIntSlice()
	if err != nil {
		return did, err
	}
	return Redriven{Queued: all[0], Through: min(all[1], int64(len(ids)))}, nil
}

// Purge drops dead changes of these ids, all if there are none.
func (s *Sender) Purge(ctx context.Context, ids []string) (int64, error) {
	return send.Number(s.Hub.Engine.Run(ctx, behindPurgeScript, []string{keys.MapDead(s.Key), keys.MapDeadLast(s.Key)}, ids))
}
