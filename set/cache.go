package set

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/sweep"
)

// Cache is a handle on a set whose members may have a time to live each, which Redisson's RSetCache shares. Members are equal if
// their bytes are. The handle has no state, so any number of goroutines may use it, and any number of handles on one name are the same
// set.
//
// Times are counted by the clients' clocks, as in Redisson. An expired member is none for every operation, and takes memory
// until it is swept.
type Cache[T any] struct {
	common
	members[T]
	lifetime lifetime
}

// NewCache returns a handle on the set with times to live of that name. Members are as those of [New].
func NewCache[T any](c Client, name string, opts ...CacheOption) *Cache[T] {
	e := c.Engine()
	cfg, err := object.Options(config{}, opts, CacheOption.applyCache)
	var m members[T]
	if err == nil {
		m, err = newMembers[T](e, name, cfg)
	}
	return &Cache[T]{common{newBase(e, "set cache", "sorted set", name, err, keys.OnCluster)}, m, cfg.lifetime}
}

const (
	// mostAdded bounds the members of a transaction.
	mostAdded = 1000
	// mostPicked is how many one call picks at random: it looks at each by its rank.
	mostPicked = 500
)

// sendable returns the bytes of members, and their lifetime, if the handle can be used.
func (c *Cache[T]) sendable(ctx context.Context, vs []T, opts []AddOption) (texts []string, l lifetime, err error) {
	if err = c.b.Usable(ctx); err == nil {
		l, err = c.lifetime.of(opts)
	}
	if err == nil {
		texts, err = c.texts(vs)
	}
	return texts, l, err
}

// Add adds a member, and reports whether it was not there, or had expired. It gives one that was there the new time to live: that
// of [WithTTL], of the call or else of the handle. Without one it is permanent.
//
// Cost: one transaction of two commands. Errors: [ErrOutcomeUnknown], which also ends a ctx that ends before the answer, and is
// returned to a user who may not send MULTI; [ErrInvalidArgument]; ctx's error and cause; [ErrClosed]; Redis' and the network's.
// Source: RSetCache.add.
func (c *Cache[T]) Add(ctx context.Context, v T, opts ...AddOption) (added bool, err error) {
	n, err := c.add(ctx, []T{v}, opts)
	return n > 0, c.b.Failed("add to", err)
}

// AddMany adds members as Add does, all with the same time to live, and returns how many of them were not there, or had expired.
//
// Cost: one transaction for each 1,000 members, or for as many as have 1 MB; none without members. Those of one transaction appear
// together; after an error some may have been added, and are counted. Errors: as Add. Source: RSetCache.addAll.
func (c *Cache[T]) AddMany(ctx context.Context, vs []T, opts ...AddOption) (added int64, err error) {
	added, err = c.add(ctx, vs, opts)
	return added, c.b.Failed("add to", err)
}

func (c *Cache[T]) add(ctx context.Context, vs []T, opts []AddOption) (int64, error) {
	texts, l, err := c.sendable(ctx, vs, opts)
	if err != nil {
		return 0, err
	}
	return inParts(distinct(texts), mostAdded, func(some []string) (int64, error) {
		now := c.b.Engine.Wall()
		at, ms := l.at(now)
		pairs := make([]string, 0, 2*len(some))
		for _, text := range some {
			pairs = append(pairs, at, text)
		}
		t := scripts.NewTransaction("set cache add",
			scripts.Step{Command: zmscore, Call: scripts.Call{Keys: c.b.Keys, Args: some}, Reads: true},
			scripts.Step{Command: zadd, Call: scripts.Call{Keys: c.b.Keys, Args: pairs}})
		return sweep.Expecting(ctx, c.b.Engine, ms, c.b.h.expecting(c.b.Key), func(ctx context.Context) (int64, error) {
			got, err := c.b.Engine.TransactBriefly(ctx, t)
			if err != nil {
				return 0, err
			}
			before, err := got[0].ToArray()
			if err != nil {
				return 0, err
			}
			ends, err := endsIn(before)
			return dead(ends, now), err
		})
	})
}

// distinct returns each text once.
func distinct(texts []string) (once []string) {
	seen := make(map[string]bool, len(texts))
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			once = append(once, text)
		}
	}
	return once
}

// dead counts the members that do not live.
func dead(ends []end, now int64) (n int64) {
	for _, e := range ends {
		if !e.lives(now) {
			n++
		}
	}
	return n
}

// addIf sends a script that adds members if something holds.
func (c *Cache[T]) addIf(ctx context.Context, by *scripts.Script, vs []T, opts []AddOption, when ...string) (bool, error) {
	texts, l, err := c.sendable(ctx, vs, opts)
	if err != nil || len(texts) == 0 {
		return err == nil, err
	}
	now := c.b.Engine.Wall()
	at, ms := l.at(now)
	args := append(append([]string{decimal(now), at}, when...), texts...)
	return sweep.Expecting(ctx, c.b.Engine, ms, c.b.h.expecting(c.b.Key), func(ctx context.Context) (bool, error) {
		return send.Yes(c.b.Engine.RunBriefly(ctx, by, c.b.Keys, args))
	})
}

// AddIfAbsent adds a member as Add does if it is not there, or has expired, and reports whether it did.
//
// Cost: one script call. Errors: as Add. Source: RSetCache.addIfAbsent.
func (c *Cache[T]) AddIfAbsent(ctx context.Context, v T, opts ...AddOption) (did bool, err error) {
	did, err = c.addIf(ctx, cacheAddIfScript, []T{v}, opts, "absent")
	return did, c.b.Failed("add if absent to", err)
}

// AddIfPresent gives a member that is there, and has not expired, the time to live of a call of Add, and reports whether it did.
//
// Cost: one script call. Errors: as Add. Source: RSetCache.addIfExists.
func (c *Cache[T]) AddIfPresent(ctx context.Context, v T, opts ...AddOption) (did bool, err error) {
	did, err = c.addIf(ctx, cacheAddIfScript, []T{v}, opts, "present")
	return did, c.b.Failed("add if present to", err)
}

// AddIfShorter does as AddIfPresent if the member ends earlier by it.
//
// Cost: one script call. Errors: as Add. Source: RSetCache.addIfLess.
func (c *Cache[T]) AddIfShorter(ctx context.Context, v T, opts ...AddOption) (did bool, err error) {
	did, err = c.addIf(ctx, cacheAddIfScript, []T{v}, opts, "shorter")
	return did, c.b.Failed("add if shorter to", err)
}

// AddIfLonger does as AddIfPresent if the member ends later by it.
//
// Cost: one script call. Errors: as Add. Source: RSetCache.addIfGreater.
func (c *Cache[T]) AddIfLonger(ctx context.Context, v T, opts ...AddOption) (did bool, err error) {
	did, err = c.addIf(ctx, cacheAddIfScript, []T{v}, opts, "longer")
	return did, c.b.Failed("add if longer to", err)
}

// AddAllIfAbsent adds members as Add does if none of them is there, or all that are have expired, and reports whether it did. It is one
// step, however many they are: the server does nothing else meanwhile, about 2 ms for 1,000. Without members it is done.
//
// Cost: one script call. Errors: as Add. Source: RSetCache.tryAdd.
func (c *Cache[T]) AddAllIfAbsent(ctx context.Context, vs []T, opts ...AddOption) (did bool, err error) {
	did, err = c.addIf(ctx, cacheAddAllScript, vs, opts)
	return did, c.b.Failed("add all to", err)
}

// Remove removes members, and returns how many of them were there. An expired one counts until it is swept.
//
// Cost: one command for each 2,000 members, or for as many as have 1 MB; none without members. Errors: as Add. Source:
// RSetCache.remove, RSetCache.removeAll.
func (c *Cache[T]) Remove(ctx context.Context, vs ...T) (removed int64, err error) {
	texts, _, err := c.sendable(ctx, vs, nil)
	if err == nil {
		removed, err = c.b.writes(ctx, zrem, texts)
	}
	return removed, c.b.Failed("remove from", err)
}

// Has reports whether v is a member that has not expired. Calls of one process of one set that come while others are on their way
// go out together.
//
// Cost: a share of one command. Errors: ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; Redis' and the network's.
// Source: RSetCache.contains.
func (c *Cache[T]) Has(ctx context.Context, v T) (has bool, err error) {
	ends, err := c.endOf(ctx, v)
	return err == nil && ends.lives(c.b.Engine.Wall()), c.b.Failed("look into", err)
}

// Remaining returns how long a member lives: 0 if it is not there, or has expired, -1 if it has no end. AddIfPresent changes that.
//
// Cost and errors: as Has. Redisson has no such method.
func (c *Cache[T]) Remaining(ctx context.Context, v T) (left time.Duration, err error) {
	ends, err := c.endOf(ctx, v)
	if err == nil {
		left = ends.left(c.b.Engine.Wall())
	}
	return left, c.b.Failed("look into", err)
}

func (c *Cache[T]) endOf(ctx context.Context, v T) (ends end, err error) {
	if err = c.b.Usable(ctx); err != nil {
		return 0, err
	}
	text, err := c.text(v)
	if err == nil {
		ends, err = c.b.h.ends.Do(ctx, c.b.Key, text)
	}
	return ends, err
}

// HasEach reports of each value whether it is a member that has not expired.
//
// Cost: one command for each 2,000 values, or for as many as have 1 MB; none without values. Errors: as Has.
// Redisson has no such method.
func (c *Cache[T]) HasEach(ctx context.Context, vs ...T) (has []bool, err error) {
	texts, _, err := c.sendable(ctx, vs, nil)
	var ends []end
	if err == nil {
		ends, err = inEach(ctx, c.b.h, c.b.Key, texts, c.b.h.endsOf)
	}
	if err != nil {
		return nil, c.b.Failed("look into", err)
	}
	has, now := make([]bool, len(ends)), c.b.Engine.Wall()
	for i, e := range ends {
		has[i] = e.lives(now)
	}
	return has, nil
}

// Len returns how many members have not expired.
//
// Cost: one command. Errors: as Has. Source: RSetCache.size.
func (c *Cache[T]) Len(ctx context.Context) (n int64, err error) {
	n, err = read(ctx, c.b, send.Number, zcount, "("+c.b.h.latch.Clock(), "+inf")
	return n, c.b.Failed("count", err)
}

// Random returns up to n different members at random that have not expired. It returns fewer if there are fewer, or if
// members are so large that it takes several answers, and these have always the same ones. Members that do not decode are the error in addition to
// the others.
//
// Cost: one script call for each 500 members, or for as many as have 1 MB. Errors: as Has, and [ErrDecode]; [ErrInvalidArgument]
// also above 10,000: All walks them. Source: RSetCache.random.
func (c *Cache[T]) Random(ctx context.Context, n int) (vs []T, err error) {
	if err = c.b.Usable(ctx); err == nil {
		err = checkCount(n, mostRandom)
	}
	var texts []string
	if err == nil {
		texts, err = sample(n, func(n int) ([]string, bool, error) { return c.pick(ctx, min(n, mostPicked)) })
	}
	if err == nil {
		vs, err = c.values(texts)
	}
	return vs, c.b.Failed("pick from", err)
}

// pick returns some members that live, at random, and whether there are no others.
func (c *Cache[T]) pick(ctx context.Context, n int) (some []string, all bool, err error) {
	args := []string{c.b.h.latch.Clock(), strconv.Itoa(paging.Bytes)}
	for range n {
		args = append(args, strconv.FormatFloat(rand.Float64(), 'f', -1, 64))
	}
	parts, err := read(ctx, c.b, arrayOf, readCacheRandom, args...)
	if err != nil {
		return nil, false, err
	}
	only, err := parts[0].AsInt64()
	if err == nil {
		some, err = parts[1].AsStrSlice()
	}
	return some, only == 1, err
}

// Retain removes all members but these, and returns how many it has removed; without any, all that have not expired. It walks
// the set: it is not one step, and what others add meanwhile may stay or be removed. After an error call it again. Members keep
// their times.
//
// Cost: as All, and one command for each page that has members to remove. Errors: as Add. Source: RSetCache.retainAll.
func (c *Cache[T]) Retain(ctx context.Context, vs ...T) (removed int64, err error) {
	texts, _, err := c.sendable(ctx, vs, nil)
	if err == nil {
		keep := setOf(texts)
		for some, failed := range c.alive(ctx) {
			var n int64
			if err = failed; err == nil {
				n, err = c.b.writes(ctx, zrem, without(some, keep))
			}
			if removed += n; err != nil {
				break
			}
		}
	}
	return removed, c.b.Failed("retain in", err)
}

// alive walks the members that have not expired, some at a time.
func (c *Cache[T]) alive(ctx context.Context) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for pairs, err := range c.b.h.pages(ctx, readCache, c.b.Key) {
			var texts []string
			now := c.b.Engine.Wall()
			for i := 0; err == nil && i+1 < len(pairs); i += 2 {
				var at float64
				if at, err = strconv.ParseFloat(pairs[i+1], 64); err == nil && end(at).lives(now) {
					texts = append(texts, pairs[i])
				}
			}
			if !yield(texts, err) || err != nil {
				return
			}
		}
	}
}

// All walks the members that have not expired, as [Set.All] does.
//
// Cost and errors: as [Set.All]. Source: RSetCache.iterator, RSetCache.readAll.
func (c *Cache[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return walked(ctx, c.b, &c.members, "walk", c.b.Failed, c.alive(ctx))
}

// RemainingAll returns how long the whole set stays: 0 if there is none, -1 if it has no end. It says nothing of the times of members.
//
// Cost: one command. Errors: as Has. Source: RSetCache.remainTimeToLive.
func (c *Cache[T]) RemainingAll(ctx context.Context) (left time.Duration, err error) {
	return c.b.Remaining(ctx)
}

// Rename gives the set another name, as [Set.Rename] does. Members keep their times. What expires under the new name is swept by this client, and by those
// that use that name.
//
// Cost: one script call. Errors: as Delete. Source: RSetCache.rename.
func (c *Cache[T]) Rename(ctx context.Context, to string) (bool, error) {
	return c.moved(to)(c.b.Rename(ctx, to))
}

// RenameIfAbsent does as Rename if nothing has the new name, and reports whether it did.
//
// Cost: one script call. Errors: as Delete. Source: RSetCache.renamenx.
func (c *Cache[T]) RenameIfAbsent(ctx context.Context, to string) (bool, error) {
	return c.moved(to)(c.b.RenameIfAbsent(ctx, to))
}

// Copy copies the set, as [Set.Copy] does. Members keep their times, in the copy, too.
//
// Cost: one script call. Errors: as Delete. Source: RSetCache.copy.
func (c *Cache[T]) Copy(ctx context.Context, to string) (bool, error) {
	return c.moved(to)(c.b.Copy(ctx, to))
}

// moved has what is under another name now swept.
func (c *Cache[T]) moved(to string) func(bool, error) (bool, error) {
	return func(did bool, err error) (bool, error) {
		if did || errors.Is(err, ErrOutcomeUnknown) {
			c.b.h.expect(c.b.Engine.Map(to), c.b.Engine.Wall())
		}
		return did, err
	}
}
