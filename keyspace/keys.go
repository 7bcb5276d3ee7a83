package keyspace

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keywalk"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Client is a *rueidisson.Client.
type Client = object.Client

// Type is the type of a key, as TYPE names it.
type Type string

// The types of keys. A module has others.
const (
	None      Type = "none" // there is no such key
	String    Type = "string"
	List      Type = "list"
	Set       Type = "set"
	SortedSet Type = "zset"
	Hash      Type = "hash"
	Stream    Type = "stream"
)

// Keys is a handle on all keys of a client's server, or of its cluster: Redisson's RKeys. It
// holds nothing, so it may be used by any number of goroutines.
type Keys struct {
	e      *locking.Engine
	naming naming
}

// New returns a handle on the keys of a client.
func New(c Client) *Keys {
	e := c.Engine()
	return &Keys{e, namingOf(e)}
}

// everything is the pattern of all names.
const everything = "*"

// errStop ends a walk whose caller has enough.
var errStop = errors.New("enough")

// All yields the names of the keys, in no order. Those that are there from the beginning to the end come at least
// once, also while slots of a cluster move or a replica takes over; what comes, goes or is renamed meanwhile may come or not. A
// name may come again. The first error is the last element.
//
// All holds a connection while the loop runs, and no lock: the loop may take its time, and may use the client.
//
// Cost: a SCAN for each 1,000 keys that there are, one after the other, whether they match or not; in an answer there are 1,000
// names or about half a megabyte. Of each server that it looks at it also asks INFO, and on a cluster twice CLUSTER NODES. Errors:
// [ErrInvalidArgument]; [ErrSlotMoving]; ctx's error and cause; [ErrClosed]; Redis' and the network's, once they have lasted for
// 15 s. Source: RKeys.getKeys.
func (k *Keys) All(ctx context.Context, opts ...WalkOption) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		w, err := object.Options(walking{pattern: everything}, opts, WalkOption.applyWalk)
		if err == nil {
			err = k.walk(ctx, w, keywalk.Visitor{Page: func(_ rueidis.Client, keys []string) error {
				for _, key := range keys {
					if name, is := k.naming.name(key); is && !yield(name, nil) {
						return errStop
					}
				}
				return nil
			}})
		}
		if err != nil && !errors.Is(err, errStop) {
			yield("", k.failed("list", w.pattern, err))
		}
	}
}

// walk looks through the keys whose names match.
func (k *Keys) walk(ctx context.Context, w walking, visit keywalk.Visitor) error {
	if err := object.Usable(ctx, k.e, k.naming.bad); err != nil {
		return err
	}
	q := keywalk.Query{Type: string(w.is)}
	if w.pattern != everything || k.naming.mapName != nil {
		q.Pattern = k.naming.pattern(w.pattern)
	}
	if err := k.e.Fits(len(q.Pattern)); err != nil {
		return fmt.Errorf("pattern: %w", err)
	}
	return keywalk.Walk(ctx, k.e, q, visit)
}

// Count returns how many keys there are, as the masters say. Keys whose time has passed count until they are deleted. With
// rueidisson.WithNameMapper it counts what has a name, as [Keys.CountMatch] does.
//
// Cost: one DBSIZE for each master. With a name mapper as CountMatch. Errors: as [Keys.All]; the network's once they have lasted for
// 3 s. Source: RKeys.count.
func (k *Keys) Count(ctx context.Context) (n int64, err error) {
	if k.naming.mapName != nil {
		n, err = k.matching(ctx, everything)
	} else if err = object.Usable(ctx, k.e, nil); err == nil {
		n, err = keywalk.Size(ctx, k.e)
	}
	return n, k.failed("count", everything, err)
}

// CountMatch returns how many keys match a pattern, see [WithMatch]. A key that is moved to another server, or
// that the server moves within its memory, while they are counted may be counted twice.
//
// Cost and errors: as [Keys.All]. Source: RKeys.getKeysByPattern, counted.
func (k *Keys) CountMatch(ctx context.Context, pattern string) (n int64, err error) {
	if err = checkPattern(pattern); err == nil {
		n, err = k.matching(ctx, pattern)
	}
	return n, k.failed("count", pattern, err)
}

// matching counts by slots, since those of a server may be looked through again.
func (k *Keys) matching(ctx context.Context, pattern string) (n int64, err error) {
	counts := map[uint16]int64{}
	err = k.walk(ctx, walking{pattern: pattern}, keywalk.Visitor{
		Page: func(_ rueidis.Client, keys []string) error {
			for _, key := range keys {
				if _, is := k.naming.name(key); is {
					counts[k.e.Topo.Slot(key)]++
				}
			}
			return nil
		},
		Again: func(has func(slot uint16) bool) {
			for slot := range counts {
				if has(slot) {
					delete(counts, slot)
				}
			}
		},
	})
	if err != nil {
		return 0, err
	}
	for _, count := range counts {
		n += count
	}
	return n, nil
}

// DeleteMatch deletes the keys that match a pattern, see [WithMatch], and returns how many it has, also where it returns an
// error. Keys that are there from the beginning to the end are deleted. What is written meanwhile may be deleted, too, and is
// if it has the name of a key that was just found.
//
// It deletes keys, not objects: an object of several keys may have some whose names begin otherwise, see docs/redis.md. Delete
// those by their own method.
//
// A pattern that matches every name, which consists of * and ? with one * at least, is refused without [WithEverything].
//
// Cost: as [Keys.All], and an UNLINK for each page with a key that matches. On a cluster each slot of a page has an UNLINK of its
// own, 32 slots at the same time. [WithPace] rests in between. Errors: as All, and [ErrOutcomeUnknown]: an UNLINK is
// sent once, and after a lost reply some keys may have been deleted that do not count. Source: RKeys.deleteByPattern,
// unlinkByPattern.
func (k *Keys) DeleteMatch(ctx context.Context, pattern string, opts ...DeleteOption) (n int64, err error) {
	d, err := object.Options(deleting{share: 1}, opts, DeleteOption.applyDelete)
	if err == nil {
		err = checkPattern(pattern)
	}
	if err == nil && general(pattern) && !d.everything {
		err = fmt.Errorf("%w: it matches every name: WithEverything permits that", ErrInvalidArgument)
	}
	if err != nil {
		return 0, k.failed("delete", pattern, err)
	}
	since := time.Now()
	err = k.walk(ctx, walking{pattern: pattern}, keywalk.Visitor{Page: func(_ rueidis.Client, keys []string) error {
		some, err := k.each(ctx, k.naming.own(keys), k.unlink)
		n += some
		if err != nil || d.share == 1 {
			return err
		}
		worked := time.Since(since)
		err = k.rest(ctx, time.Duration(float64(worked)*(1-d.share)/d.share))
		since = time.Now()
		return err
	}})
	return n, k.failed("delete", pattern, err)
}

// rest waits, and returns how ctx or the client ended meanwhile.
func (k *Keys) rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-k.e.Closing():
	}
	return object.Usable(ctx, k.e, nil)
}

// Delete deletes keys of any type, by their names, and returns how many there were. It deletes keys, not objects, see
// [Keys.DeleteMatch].
//
// Cost: an UNLINK for each 1,000 names or megabyte of names; on a cluster for each slot, 32 slots at the same time. Errors:
// [ErrInvalidArgument]; [ErrOutcomeUnknown], which also ends a ctx that ends before the answer; ctx's error and cause;
// [ErrClosed]; Redis' and the network's. Then the number is of those that are known to be deleted. Source: RKeys.delete, unlink.
func (k *Keys) Delete(ctx context.Context, names ...string) (n int64, err error) {
	return k.named(ctx, "delete", names, k.unlink)
}

// Exists returns how many of the names have a key.
//
// Cost: as Delete, of EXISTS. Errors: as Delete, without [ErrOutcomeUnknown], and [ErrSlotMoving]: it is sent again.
// Source: RKeys.countExists.
func (k *Keys) Exists(ctx context.Context, names ...string) (n int64, err error) {
	return k.named(ctx, "look for", names, k.reading(exists))
}

// Touch has the server note that the keys were used now, for its choice of what to evict, and returns how many there are.
//
// Cost: as Delete, of TOUCH. Errors: as Exists. Source: RKeys.touch.
func (k *Keys) Touch(ctx context.Context, names ...string) (n int64, err error) {
	return k.named(ctx, "touch", names, k.reading(touch))
}

// Expire has the keys deleted when d has passed, and returns how many there are. It is about keys, not objects, see
// [Keys.DeleteMatch].
//
// Cost: as Delete, of a script. Errors: as Delete, and [ErrSlotMoving]. Source: RKeys.expire.
func (k *Keys) Expire(ctx context.Context, d time.Duration, names ...string) (n int64, err error) {
	if err = send.CheckTTL("time to live", d); err != nil {
		return 0, k.failedAt("expire", names, err)
	}
	ms := decimal(core.Millis(d))
	return k.named(ctx, "expire", names, func(ctx context.Context, keys []string) (int64, error) {
		return k.write(ctx, expireScript, keys, ms)
	})
}

// Type returns the type of a key, [None] if there is no such key.
//
// Cost: one command. Errors: as Exists. Source: RKeys.getType.
func (k *Keys) Type(ctx context.Context, name string) (is Type, err error) {
	keys, err := k.keysOf(ctx, []string{name})
	if err == nil {
		is, err = send.Reading(k.e.Sender, ctx, func() (Type, error) {
			text, _, err := send.Text(k.e.Run(ctx, typeOf, keys, nil))
			return Type(text), err
		})
	}
	return is, k.failedAt("look at", []string{name}, err)
}

// named does something to the keys of names, and returns the sum of the answers.
func (k *Keys) named(ctx context.Context, op string, names []string, do func(ctx context.Context, keys []string) (int64, error)) (n int64, err error) {
	keys, err := k.keysOf(ctx, names)
	if err == nil {
		n, err = k.each(ctx, keys, do)
	}
	return n, k.failedAt(op, names, err)
}

// keysOf returns the keys of names, each once.
func (k *Keys) keysOf(ctx context.Context, names []string) ([]string, error) {
	if err := object.Usable(ctx, k.e, nil); err != nil {
		return nil, err
	}
	anySlot := func(string) error { return nil }
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = k.e.Map(name)
		err := object.CheckNameBy(k.e, keys[i], anySlot)
		if name == "" { // which a mapper would make the key of somebody
			err = fmt.Errorf("%w: empty name", ErrInvalidArgument)
		}
		if err == nil {
			err = k.e.Fits(len(keys[i]))
		}
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// mostNames bounds the names of one command.
const mostNames = 1000

// each does something to keys, some of one slot at a time, and returns the sum of the answers.
func (k *Keys) each(ctx context.Context, keys []string, do func(ctx context.Context, keys []string) (int64, error)) (int64, error) {
	if len(keys) == 0 {
		return 0, nil
	}
	var sum atomic.Int64
	err := send.BySlot(k.e.Sender, keys, func(key string) string { return key }, mostNames, func(some []string) (int, error) {
		some = some[:cut(some)]
		n, err := do(ctx, some)
		sum.Add(n)
		return len(some), err
	})
	return sum.Load(), err
}

// cut returns how many of some keys go out as one.
func cut(some []string) int {
	bytes := 0
	for i, key := range some {
		if bytes += len(key); i > 0 && bytes > paging.Bytes {
			return i
		}
	}
	return len(some)
}

// unlink deletes keys of one slot. While the slot moves each goes by itself, to the server that has it.
func (k *Keys) unlink(ctx context.Context, keys []string) (n int64, err error) {
	if len(keys) == 1 {
		return k.write(ctx, unlink, keys)
	}
	n, err = k.write(ctx, send.NoMigrationRetry(unlink), keys)
	if !errors.Is(err, ErrSlotMoving) || errors.Is(err, ErrOutcomeUnknown) {
		return n, err
	}
	for i := range keys {
		one, err := k.write(ctx, unlink, keys[i:i+1])
		if n += one; err != nil {
			return n, err
		}
	}
	return n, nil
}

// write sends once what changes keys of one slot.
func (k *Keys) write(ctx context.Context, op send.Operation, keys []string, args ...string) (int64, error) {
	return send.Sent(k.e.Sender, ctx, func(ctx context.Context) (int64, error) {
		return send.Number(k.e.RunBriefly(ctx, op, keys, args))
	})
}

// reading returns what sends a command until it is answered.
func (k *Keys) reading(op send.Operation) func(ctx context.Context, keys []string) (int64, error) {
	return func(ctx context.Context, keys []string) (int64, error) {
		return send.Reading(k.e.Sender, ctx, func() (int64, error) { return send.Number(k.e.Run(ctx, op, keys, nil)) })
	}
}

// failed names the operation and the pattern in an error that is not nil.
func (k *Keys) failed(op, pattern string, err error) error {
	return object.Failed(op, "keys", pattern, err)
}

// failedAt names the operation and the first of the names in an error that is not nil.
func (k *Keys) failedAt(op string, names []string, err error) error {
	if err == nil {
		return nil
	}
	if len(names) > 1 {
		err = fmt.Errorf("with %d others: %w", len(names)-1, err)
	}
	return object.Failed(op, "key", strings.Join(names[:min(1, len(names))], ""), err)
}
