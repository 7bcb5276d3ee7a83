package stream

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/attempts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// Info is a stream, as the server knows it.
type Info struct {
	Length int64  // entries
	Added  int64  // entries that were ever added, also such as are gone
	LastID string // of the last entry that was added, also if it is gone
	First  string // the ID of the first entry that is there, or ""
	Last   string // the ID of the last entry, or ""
	Groups int64  // groups of consumers
}

// Info returns what the server knows of the stream. All of it is zero if there is none.
//
// Cost: one command. Errors: as [Stream.Len]. Source: RStream.getInfo.
func (s *Stream[K, V]) Info(ctx context.Context) (info Info, err error) {
	if err = s.q.Usable(ctx); err == nil {
		info, err = whole.Read(ctx, &s.q.Object, infoOf, xinfo)
	}
	return info, s.q.Failed("look at", err)
}

func infoOf(got send.Answer, err error) (info Info, _ error) {
	if noSuchKey(err) {
		return info, nil
	}
	if err != nil {
		return info, err
	}
	about, err := got.AsMap()
	if err != nil {
		return info, err
	}
	length, added, groups, last := about["length"], about["entries-added"], about["groups"], about["last-generated-id"]
	var bad [4]error
	info.Length, bad[0] = length.AsInt64()
	info.Added, bad[1] = added.AsInt64()
	info.Groups, bad[2] = groups.AsInt64()
	info.LastID, bad[3] = last.ToString()
	info.First, info.Last = idOf(about["first-entry"]), idOf(about["last-entry"])
	return info, errors.Join(bad[:]...)
}

// idOf returns the ID of an entry, or "" for none.
func idOf(entry rueidis.RedisMessage) string {
	it, err := entry.AsXRangeEntry()
	if err != nil {
		return ""
	}
	return it.ID
}

func noSuchKey(err error) bool { return err != nil && strings.Contains(err.Error(), "no such key") }

// GroupInfo is a group of a stream, as the server knows it.
type GroupInfo struct {
	Name          string // of the group
	Consumers     int64  // that the group has, also those that have died
	Pending       int64  // entries that were given and not acknowledged
	LastDelivered string // the ID of the last entry that was given
	Lag           int64  // entries that were not given; -1 where the server does not know: see [Group.Lag]
}

// Groups returns the groups of the stream; none if there is no stream.
//
// Cost: one command. Errors: as [Stream.Len]. Source: RStream.listGroups.
func (s *Stream[K, V]) Groups(ctx context.Context) (all []GroupInfo, err error) {
	if err = s.q.Usable(ctx); err == nil {
		all, err = whole.Read(ctx, &s.q.Object, groupsOf, xgroups)
	}
	return all, s.q.Failed("list groups of", err)
}

func groupsOf(got send.Answer, err error) ([]GroupInfo, error) {
	if noSuchKey(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rows, err := got.ToArray()
	all := make([]GroupInfo, len(rows))
	for i, row := range rows {
		about, bad := row.AsMap()
		if bad != nil {
			return nil, bad
		}
		name, consumers, pending, last, lag := about["name"], about["consumers"], about["pending"], about["last-delivered-id"], about["lag"]
		g := GroupInfo{}
		var each [4]error
		g.Name, each[0] = name.ToString()
		g.Consumers, each[1] = consumers.AsInt64()
		g.Pending, each[2] = pending.AsInt64()
		g.LastDelivered, each[3] = last.ToString()
		if g.Lag, bad = lag.AsInt64(); bad != nil {
			g.Lag = -1
		}
		all[i], err = g, errors.Join(append(each[:], err)...)
	}
	return all, err
}

// Lag returns how many entries the group has not acknowledged: those that no consumer was given,
// and those that one has. It is 0 where there is no such group.
//
// Cost: one command, and where the server does not know it, one for each 100 entries. Errors: as [Stream.Len].
func (g *Group[K, V]) Lag(ctx context.Context) (n int64, err error) {
	if err = g.usable(ctx); err == nil {
		n, err = attempts.Lag(ctx, g.s.h.e, g.s.Key, g.name)
	}
	return n, g.failed("look at", err)
}

// SetID sets the last ID of the stream: the next ID that the server chooses is
// greater. It cannot be set below the last existing entry, or if the stream does not exist.
//
// Cost: one command. Errors: as [Stream.Add]; Redis' for an ID that is too small.
func (s *Stream[K, V]) SetID(ctx context.Context, id string) (err error) {
	if err = s.q.Usable(ctx); err == nil {
		err = checkID(id, "")
	}
	if err == nil {
		_, err = whole.Write(ctx, &s.q.Object, func(_ send.Answer, err error) (bool, error) { return true, err }, xsetid, []string{s.q.Key}, id)
	}
	return s.q.Failed("number", err)
}
