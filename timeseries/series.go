package timeseries

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/sweep"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// Series is a handle on the time series of one name, which Redisson's RTimeSeries shares. It holds nothing, so it may be used by any
// number of goroutines, and any number of handles on one name are the same series.
//
// Entries expire by the clients' clocks, as in Redisson. An expired entry is none for every operation, and takes memory
// until it is swept.
type Series[T any] struct {
	common
	entries[T]
	ttl time.Duration
}

// New returns a handle on the time series of that name.
func New[T any](c Client, name string, opts ...Option) *Series[T] {
	e := c.Engine()
	cfg, err := object.Options(config{}, opts, Option.applyHandle)
	var m entries[T]
	if err == nil {
		m, err = newEntries[T](e, name, cfg)
	}
	return &Series[T]{common{newBase(e, name, err)}, m, cfg.ttl}
}

const (
	// mostAdded bounds the entries of one call that adds, which keeps the server for a millisecond or two.
	mostAdded = 200
	// mostPage bounds the entries of one answer.
	mostPage = 500
	// mostTaken bounds the entries that one call removes.
	mostTaken = 300
	// mostLooked bounds the entries that one call looks at: many of them may have expired.
	mostLooked = 500
)

// Add adds a value at a time, in whole milliseconds. Several values may have one time, also equal ones.
//
// Cost: one script call. Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown], which also ends a ctx that ends before the answer;
// ctx's error and cause; [ErrSlotMoving]; [ErrClosed]; Redis' and the network's. Source: RTimeSeries.add.
func (s *Series[T]) Add(ctx context.Context, t time.Time, v T, opts ...AddOption) error {
	_, err := s.add(ctx, []Entry[T]{{Time: t, Value: v}}, opts)
	return s.b.Failed("add to", err)
}

// AddMany adds entries as Add does, all with the same time to live, and returns how many it has added. A label of [WithLabel] is
// that of the entries that have none. Those of one script call appear together; after an error some may have been added, and are
// counted.
//
// Cost: one script call for each 200 entries, or for as many as have 1 MB; none without entries. Errors: as Add. Source:
// RTimeSeries.addAll.
func (s *Series[T]) AddMany(ctx context.Context, all []Entry[T], opts ...AddOption) (added int64, err error) {
	added, err = s.add(ctx, all, opts)
	return added, s.b.Failed("add to", err)
}

func (s *Series[T]) add(ctx context.Context, all []Entry[T], opts []AddOption) (added int64, err error) {
	if err = s.b.Usable(ctx); err != nil {
		return 0, err
	}
	how, err := object.Options(adding{ttl: s.ttl}, opts, AddOption.applyAdd)
	if err != nil {
		return 0, err
	}
	words := make([]string, 0, 2*len(all))
	for _, one := range all {
		one.Label = cmp.Or(one.Label, how.label)
		is, err := s.store(one)
		if err != nil {
			return 0, err
		}
		words = append(words, is.score, is.text)
	}
	for len(words) > 0 && err == nil {
		n, bytes := 0, 0
		for n < len(words) && n < 2*mostAdded && (n == 0 || bytes+len(words[n+1]) <= paging.Bytes) {
			bytes += len(words[n+1])
			n += 2
		}
		var got int64
		got, err = s.b.add(ctx, how.ttl, words[:n])
		added, words = added+got, words[n:]
	}
	return added, err
}

// add sends entries, each after its time.
func (b *base) add(ctx context.Context, ttl time.Duration, words []string) (int64, error) {
	ends, ever, swept := b.Engine.Wall()+core.Millis(core.LongestLease), "1", int64(0)
	if ttl > 0 {
		swept = b.Engine.Wall() + core.Millis(ttl)
		ends, ever = swept, "0"
	}
	args := append([]string{decimal(ends), ever}, words...)
	return sweep.Expecting(ctx, b.Engine, swept, func(at int64) { b.h.expect(b.Key, at) }, func(ctx context.Context) (int64, error) {
		return send.Number(b.Engine.RunBriefly(ctx, addScript, b.Keys[:2], args))
	})
}

// Get returns the entry of a time, and whether there is one. Of several it returns any one, and the same one until that is removed, or
// expires, or one is added: [Series.Range] from and to the time walks all of them.
//
// Cost: one script call; another one for each 500 expired entries of that time. Errors: [ErrDecode], by a *[codec.DecodeError]; ctx's
// error and cause; [ErrInvalidArgument]; [ErrSlotMoving]; [ErrClosed]; Redis' and the network's. Source: RTimeSeries.get, getEntry.
func (s *Series[T]) Get(ctx context.Context, t time.Time) (e Entry[T], there bool, err error) {
	within, err := moment(t)
	if err != nil {
		return e, false, s.b.Failed("read", err)
	}
	for e, err = range s.ranged(ctx, "read", asIs, within, []RangeOption{WithLimit(1)}) {
		return e, err == nil, err
	}
	return e, false, nil
}

// All walks the entries in the order of their times, or [WithDescending]. Those of one time have the order of their bytes.
//
// What one call to the server brings is of one moment. The next call goes on after the last entry of the one before, where that is or
// was. So an entry that is there throughout comes once, whatever others do, also if the series moves to another server. One that is
// added, removed or expires meanwhile may come or not. An entry that does not decode is [ErrDecode], which wraps rueidisson.ErrNotice too, and the walk
// continues; another error ends it. The walk holds nothing on the server, so it may be left at any time.
//
// Cost: one script call for each 500 entries, expired ones too, or for as many as have about 1 MB. Errors: as [Series.Get]. Source:
// RTimeSeries.iterator, stream.
func (s *Series[T]) All(ctx context.Context, opts ...RangeOption) iter.Seq2[Entry[T], error] {
	return s.ranged(ctx, "walk", core.Notice, bounds(Earliest, Latest), opts)
}

// Range walks the entries from one time through another, both included, as [Series.All] does. See [Earliest] and
// [Latest] for ranges without a bound.
//
// Cost and errors: as All. Source: RTimeSeries.range, rangeReversed, entryRange, entryRangeReversed.
func (s *Series[T]) Range(ctx context.Context, from, to time.Time, opts ...RangeOption) iter.Seq2[Entry[T], error] {
	return s.ranged(ctx, "walk", core.Notice, bounds(from, to), opts)
}

// First returns the n entries with the first times, the first one first, fewer if there are fewer. Entries that do not decode are
// the error in addition to the others.
//
// Cost: as All, none if n is 0. Errors: as All. Source: RTimeSeries.first, firstEntries, firstTimestamp, which go by the
// time that an entry lives: see docs/migrating.md.
func (s *Series[T]) First(ctx context.Context, n int) ([]Entry[T], error) {
	return s.some(ctx, n)
}

// Last returns the n entries with the last times, the last one first, as [Series.First] does.
//
// Cost and errors: as First. Source: RTimeSeries.last, lastEntries, lastTimestamp.
func (s *Series[T]) Last(ctx context.Context, n int) ([]Entry[T], error) {
	return s.some(ctx, n, WithDescending())
}

func (s *Series[T]) some(ctx context.Context, n int, opts ...RangeOption) (all []Entry[T], err error) {
	if err = cmp.Or(s.b.Usable(ctx), checkCount(n)); err != nil {
		return nil, s.b.Failed("read", err)
	}
	var failed []error
	for e, err := range s.ranged(ctx, "read", asIs, bounds(Earliest, Latest), append(opts, WithLimit(int64(n)))) {
		if err != nil {
			failed = append(failed, err)
			continue
		}
		all = append(all, e)
	}
	return all, errors.Join(failed...)
}

func asIs(err error) error { return err }

// ranged walks the entries within bounds. as changes the error of an entry that does not decode.
func (s *Series[T]) ranged(ctx context.Context, op string, as func(error) error, within [2]string, opts []RangeOption) iter.Seq2[Entry[T], error] {
	return func(yield func(Entry[T], error) bool) {
		r, err := object.Options(ranging{limit: math.MaxInt64}, opts, RangeOption.applyRange)
		if err = cmp.Or(s.b.Usable(ctx), err); err != nil {
			yield(Entry[T]{}, s.b.Failed(op, err))
			return
		}
		w := walk{base: s.b, back: r.back, within: within, plan: s.b.plan(mostPage)}
		for left := r.limit; left > 0 && !w.over; {
			some, err := w.page(ctx, left)
			if err != nil {
				yield(Entry[T]{}, s.b.Failed(op, err))
				return
			}
			for _, is := range some {
				e, err := s.load(is)
				if !yield(e, s.b.Failed(op, as(err))) {
					return
				}
			}
			left -= int64(len(some))
		}
	}
}

// walk goes through the entries within bounds, some at a time.
type walk struct {
	*base
	back   bool
	within [2]string
	plan   paging.Plan

	after stored // the last entry that was looked at; of a removed one how it begins
	over  bool
}

// args returns what living.lua takes, to find up to most entries.
func (w *walk) args(most int64) []string {
	return []string{w.h.latch.Clock(), flag(w.back), w.within[0], w.within[1], decimal(most), decimal(paging.Bytes), decimal(mostLooked),
		w.after.score, w.after.text}
}

// page reads some entries, up to so many.
func (w *walk) page(ctx context.Context, most int64) ([]stored, error) {
	parts, err := read(ctx, w.base, partsOf, w.plan.UpTo(most).Expect(readPage), w.args(min(most, mostPage))...)
	if err != nil {
		return nil, err
	}
	return w.found(parts)
}

// found returns the entries of an answer, and notes where to go on.
func (w *walk) found(parts []rueidis.RedisMessage) ([]stored, error) {
	words, err := parts[0].AsStrSlice()
	if err != nil {
		return nil, err
	}
	some, bytes := make([]stored, len(words)/2), 0
	for i := range some {
		some[i] = stored{words[2*i], words[2*i+1]}
		bytes += len(words[2*i])
	}
	w.h.sizes.Of(w.Key).Saw(bytes, len(some))
	w.plan.Saw(len(some), int64(bytes))
	if err = w.goOn(parts[1:]); err == nil && w.after.text == "" && len(some) > 0 {
		w.after.text = some[len(some)-1].text
	}
	return some, err
}

// goOn notes where to go on.
func (w *walk) goOn(parts []rueidis.RedisMessage) (err error) {
	if len(parts) != 2 {
		return fmt.Errorf("an answer of %d parts", len(parts)+1)
	}
	if w.after.score, err = parts[0].ToString(); err == nil {
		w.after.text, err = parts[1].ToString()
	}
	w.over = w.after.score == ""
	return err
}

// plan plans a walk through entries like those that were seen of the series before.
func (b *base) plan(most int64) paging.Plan {
	p := paging.Walk(most)
	if each := b.h.sizes.Of(b.Key).Load(); each > 0 {
		p.N = min(most, max(paging.Bytes/each, 1))
		p.Bytes = p.N * each
	}
	return p
}

// PopFirst removes the n entries with the first times, and returns them, the first one first. Entries that do not decode are removed,
// too, and are the error in addition to the others. After another error it returns what it has removed by then. Expired entries stay
// for the sweeper.
//
// A reply that is lost loses the entries that it has: about 1 MB at most, or one.
//
// Cost: one script call for each 300 entries, or for as many as have about 1 MB, or for each 500 that have expired; none if n is
// 0. Errors: as [Series.Add], and [ErrDecode] by a *[codec.DecodeError]. Source: RTimeSeries.pollFirst, pollFirstEntries, which go by
// the time that an entry lives: see docs/migrating.md.
func (s *Series[T]) PopFirst(ctx context.Context, n int) ([]Entry[T], error) {
	return s.pop(ctx, "pop from", n, false, bounds(Earliest, Latest))
}

// PopLast removes the n entries with the last times, and returns them, the last one first, as [Series.PopFirst] does.
//
// Cost and errors: as PopFirst. Source: RTimeSeries.pollLast, pollLastEntries.
func (s *Series[T]) PopLast(ctx context.Context, n int) ([]Entry[T], error) {
	return s.pop(ctx, "pop from", n, true, bounds(Earliest, Latest))
}

// Take removes the entry of a time, and returns it, and whether there was one. Of several it takes the one that [Series.Get] returns.
// One that does not decode is removed, too.
//
// Cost: as Get. Errors: as PopFirst. Source: RTimeSeries.getAndRemove, getAndRemoveEntry.
func (s *Series[T]) Take(ctx context.Context, t time.Time) (e Entry[T], there bool, err error) {
	within, err := moment(t)
	if err != nil {
		return e, false, s.b.Failed("take from", err)
	}
	got, err := s.pop(ctx, "take from", 1, false, within)
	if len(got) > 0 {
		e = got[0]
	}
	return e, len(got) > 0, err
}

// pop removes entries within bounds, and returns those that decode.
func (s *Series[T]) pop(ctx context.Context, op string, n int, back bool, within [2]string) ([]Entry[T], error) {
	if err := cmp.Or(s.b.Usable(ctx), checkCount(n)); err != nil {
		return nil, s.b.Failed(op, err)
	}
	w := walk{base: s.b, back: back, within: within, plan: s.b.plan(mostTaken)}
	var all []Entry[T]
	var failed []error
	for left := int64(n); left > 0 && !w.over; {
		some, err := w.take(ctx, left)
		for _, is := range some {
			if e, bad := s.load(is); bad == nil {
				all = append(all, e)
			} else {
				failed = append(failed, bad)
			}
		}
		if err != nil {
			failed = append(failed, err)
			break
		}
		left -= int64(len(some))
	}
	return all, s.b.Failed(op, errors.Join(failed...))
}

// begins is how much of a removed entry says where to go on: more than what comes before its value.
const begins = 64

// take removes some entries, up to so many, and returns them.
func (w *walk) take(ctx context.Context, most int64) ([]stored, error) {
	parts, err := write(ctx, w.base, partsOf, w.plan.UpTo(most).Expect(takeScript), append(w.args(min(most, mostTaken)), "1")...)
	if err != nil {
		return nil, err
	}
	some, err := w.found(parts)
	if len(some) > 0 && w.after.text == some[len(some)-1].text && len(w.after.text) > begins {
		w.after.text = w.after.text[:begins]
	}
	return some, err
}

// Remove removes the entry of a time, and reports whether there was one. Of several it removes the one that [Series.Get] returns:
// [Series.RemoveRange] from and to the time removes all of them.
//
// Cost: as Get. Errors: as [Series.Add]. Source: RTimeSeries.remove.
func (s *Series[T]) Remove(ctx context.Context, t time.Time) (was bool, err error) {
	within, err := moment(t)
	var n int64
	if err == nil {
		n, err = s.b.remove(ctx, within, 1)
	}
	return n > 0, s.b.Failed("remove from", err)
}

// RemoveRange removes the entries from one time through another, both included, and returns how many there were. 300 of
// them, fewer if they are large, are removed in one step; those that are added meanwhile may stay or be removed. Expired entries stay
// for the sweeper. After an error some may have been removed, and are counted.
//
// Cost: one script call for each 300 entries, or for as many as have about 1 MB, or for each 500 that have expired. Errors: as
// [Series.Add]. Source: RTimeSeries.removeRange.
func (s *Series[T]) RemoveRange(ctx context.Context, from, to time.Time) (removed int64, err error) {
	removed, err = s.b.remove(ctx, bounds(from, to), math.MaxInt64)
	return removed, s.b.Failed("remove from", err)
}

// remove removes entries within bounds, and returns how many there were.
func (b *base) remove(ctx context.Context, within [2]string, most int64) (removed int64, err error) {
	w := walk{base: b, within: within}
	for removed < most && !w.over && err == nil {
		var parts []rueidis.RedisMessage
		if parts, err = write(ctx, b, partsOf, takeScript, append(w.args(min(most-removed, mostTaken)), "0")...); err != nil {
			break
		}
		var n int64
		if n, err = parts[0].AsInt64(); err == nil {
			removed, err = removed+n, w.goOn(parts[1:])
		}
	}
	return removed, err
}

// Len returns how many entries have not expired.
//
// Cost: one script call. Errors: as [Series.Get]. Source: RTimeSeries.size.
func (s *Series[T]) Len(ctx context.Context) (n int64, err error) {
	if err = s.b.Usable(ctx); err == nil {
		n, err = read(ctx, s.b, send.Number, countScript, s.b.h.latch.Clock())
	}
	return n, s.b.Failed("count", err)
}

// Rename gives the series another name, over what has that name, and reports whether there was one to rename. It keeps
// its time to live, and entries keep theirs. What expires under the new name is swept by this client, and by those
// that use that name. The handle stays one on the old name. On a cluster both names share a hash tag, such as a:{1} and
// b:{1}.
//
// Cost: one script call. Errors: as Delete. Source: RTimeSeries.rename.
func (s *Series[T]) Rename(ctx context.Context, to string) (bool, error) {
	return s.moved(to)(s.b.RenameBy(ctx, to, 1))
}

// RenameIfAbsent renames the series, as Rename does, if nothing has the new name, and reports
// whether it did.
//
// Cost: one script call. Errors: as Delete. Source: RTimeSeries.renamenx.
func (s *Series[T]) RenameIfAbsent(ctx context.Context, to string) (bool, error) {
	return s.moved(to)(s.b.RenameIfAbsentBy(ctx, to, 1))
}

// Copy copies the series under another name, with its time to live, if nothing has that name, and reports whether it
// did. Entries keep their times. On a cluster both names share a hash tag. The server does nothing else meanwhile: about 1 s for a
// million entries.
//
// Cost: one script call. Errors: as Delete. Source: RTimeSeries.copy.
func (s *Series[T]) Copy(ctx context.Context, to string) (bool, error) {
	return s.moved(to)(s.b.CopyBy(ctx, to, 1))
}

// moved has what is under another name now swept.
func (s *Series[T]) moved(to string) func(bool, error) (bool, error) {
	return func(did bool, err error) (bool, error) {
		if did || errors.Is(err, ErrOutcomeUnknown) {
			s.b.h.expect(s.b.Engine.Map(to), s.b.Engine.Wall())
		}
		return did, err
	}
}

// flag returns a truth value for scripts.
func flag(is bool) string {
	if is {
		return "1"
	}
	return "0"
}

// read sends a script that changes nothing. ctx bounds the wait for it.
func read[A any](ctx context.Context, b *base, as func(send.Answer, error) (A, error), op send.Operation, args ...string) (answer A, err error) {
	return send.Reading(b.Engine.Sender, ctx, func() (A, error) { return as(b.Engine.Run(ctx, op, b.Keys[:2], args)) })
}

// write sends a script. ctx bounds the wait for it; it may be done still when that has ended.
func write[A any](ctx context.Context, b *base, as func(send.Answer, error) (A, error), op send.Operation, args ...string) (answer A, err error) {
	if err = b.Usable(ctx); err != nil {
		return answer, err
	}
	return whole.WriteBriefly(ctx, &b.Object, as, op, b.Keys, args...)
}
