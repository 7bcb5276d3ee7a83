package rmap

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/fieldttl"
	"github.com/rueidisson/rueidisson/internal/hashscan"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

var (
	fieldCommands = together(check.Scripts(lua, "lua/*.lua", "!lua/behind*.lua", "!lua/load_*.lua", "!lua/cleared.lua", "!lua/shards.lua"), scanCommands, check.Script(fieldttl.Script))
	plainCommands = withoutTimes(fieldCommands)
	shardCommands = withoutTimes(check.Scripts(lua, "lua/shards.lua"))
	scanCommands  = check.Script(hashscan.Script, hashscan.ServerScript)
	wholeCommands = together(check.Scripts(lua, "lua/copy.lua", "lua/rename.lua", "lua/delete.lua"), check.Script(hashscan.ServerScript))
	sizeCommands  = check.Script(send.SizeScript)

	readCommands = check.Sent(hget, hmget, hexists, hlen, hashscan.Command, exists, pttl, hset, hdel, unlink, hstrlen, hrandfield, zmscore, get)
	addCommands  = check.Sent(hincrby, hincrbyfloat)
)

// together returns the commands of all.
func together(all ...check.Commands) check.Commands {
	return func() (names []string) {
		for _, of := range all {
			names = append(names, of()...)
		}
		return names
	}
}

// withoutTimes leaves out the commands of fields with times to live, which only a [TTLMap] needs.
func withoutTimes(of check.Commands) check.Commands {
	return func() []string {
		return slices.DeleteFunc(slices.Clone(of()), func(name string) bool { return strings.HasPrefix(name, "hp") })
	}
}

// oneEntry returns the look at one entry, which tells the hash of a cache from that of another map.
func oneEntry(name string, cache bool) check.Look {
	return check.Look{Words: []string{"hrandfield", name, "1", "withvalues"}, Judge: func(answer string) error {
		length, header, there := strings.Cut(answer, ":")
		n, err := strconv.Atoi(length)
		if !there || err != nil {
			return nil // there is none, or it may not be seen
		}
		is := n >= mapcache.Header && mapcache.Fits(header, n)
		switch {
		case cache && !is:
			return fmt.Errorf("%w: key %q is the hash of a map that is no cache", ErrWrongKind, name)
		case !cache && is && n > mapcache.Header:
			return fmt.Errorf("%w: key %q is the hash of a cache", ErrWrongKind, name)
		}
		return nil
	}}
}

// checked returns what the map is on the server.
func (m *handle[K, V]) checked(types []string, commands ...check.Commands) check.Object {
	o := check.Object{
		Engine: m.h.e, Kind: m.kind, Name: m.name, Bad: m.bad,
		Commands: append(commands, readCommands, wholeCommands, sizeCommands),
		Looks:    []check.Look{oneEntry(m.key, len(types) > 1)},
	}
	if m.bad != nil {
		return o
	}
	for i, key := range m.store.object() {
		is := check.Hash
		if i < len(types) {
			is = types[i]
		}
		o.Keys = append(o.Keys, check.Key{Name: key, Type: is})
		if i == 0 {
			o.Keys = append(o.Keys, check.Each(check.String, keys.MapDone(m.key, "")), check.Each(check.String, keys.MapClaim(m.key, "")))
			if m.cfg.announce {
				o.Keys = append(o.Keys, check.Key{Name: keys.NearLog(m.key), Type: check.ZSet})
			}
		}
	}
	if m.cfg.announce {
		o.Channels = append(o.Channels, m.h.e.Channel(keys.NearChannel(m.key)))
	}
	return o
}

func (m *handle[K, V]) check(ctx context.Context, o check.Object) error {
	err := check.Run(ctx, o)
	if err == nil && m.ready != nil {
		err = m.failed("check", m.ready(ctx))
	}
	return err
}

// Check reports what would keep the map from working: a name or an option that cannot be used, a key of another type, and
// what the server's ACL does not permit to this client's user. It asks for every command of every operation. It looks at
// one entry, which may be a cache's. It writes nothing, and does not compare codecs. The answer is of this moment.
//
// Cost: one script call; two more if the ACL refuses something. Errors: [ErrInvalidArgument]; [ErrWrongKind];
// rueidisson.ErrNotPermitted; ctx's error and cause; [ErrClosed]; Redis' and the network's.
func (m *Map[K, V]) Check(ctx context.Context) error {
	return m.m.check(ctx, m.m.checked([]string{check.Hash}, plainCommands, addCommands))
}

// Check is [Map.Check], and asks whether the server has times to live of entries.
//
// Cost: as Map.Check, and one script call for the first map. Errors: as Map.Check; errors.ErrUnsupported.
func (m *TTLMap[K, V]) Check(ctx context.Context) error {
	o := m.m.checked([]string{check.Hash}, fieldCommands, addCommands)
	if m.m.bad == nil {
		o.Keys = append(o.Keys, check.Each(check.String, keys.MapLoad(m.m.key, "")))
	}
	return m.m.check(ctx, o)
}

// Check is [Map.Check], and looks at the times and the bound.
//
// Cost and errors: as Map.Check.
func (m *Cache[K, V]) Check(ctx context.Context) error {
	o := m.m.checked([]string{check.Hash, check.ZSet, check.ZSet, check.ZSet, check.Hash}, mapcache.Commands)
	if m.m.bad == nil {
		o.Keys = append(o.Keys, check.Key{Name: keys.MapLatch(m.m.key), Type: check.String}, check.Each(check.String, keys.MapLease(m.m.key)))
		for kind := mapcache.Created; kind <= mapcache.Expired; kind++ {
			o.Channels = append(o.Channels, m.m.h.e.Channel(kind.Channel(m.m.key)))
		}
	}
	return m.m.check(ctx, o)
}

// Check is [Map.Check], and looks at every shard. It asks what the ACL permits for the first shard only. It does not
// compare how many shards there are.
//
// Cost: one script call, and one for each 512 shards; on a cluster one for each shard, up to 32 at the same time. Errors: as Map.Check.
func (m *Sharded[K, V]) Check(ctx context.Context) error {
	o := m.m.checked([]string{check.String}, plainCommands, addCommands, shardCommands)
	o.Looks = nil
	if m.m.bad == nil {
		asked := 1 // the first shard stands for the others
		if check.Lists(ctx) {
			asked = m.m.cfg.shards
		}
		for i, key := range o.Keys {
			o.Keys[i].More = asked == 1 && key.Type == check.Hash && key.Name != keys.Shard(m.m.key, 0)
		}
		for i := range asked {
			shard := keys.Shard(m.m.key, i)
			o.Keys = append(o.Keys, check.Each(check.String, keys.MapDone(shard, "")), check.Each(check.String, keys.MapClaim(shard, "")))
			if m.m.cfg.announce {
				o.Keys = append(o.Keys, check.Key{Name: keys.NearLog(shard), Type: check.ZSet})
				o.Channels = append(o.Channels, m.m.h.e.Channel(keys.NearChannel(shard)))
			}
		}
	}
	return m.m.check(ctx, o)
}

// changed returns the keys that change with an entry which is loaded, or written to a store.
func changed(name string) []check.Key {
	return []check.Key{
		{Name: name, Type: check.Hash}, {Name: keys.NearLog(name), Type: check.ZSet}, {Name: keys.MapWrites(name), Type: check.Stream},
		{Name: keys.MapPending(name), Type: check.Hash},
	}
}

// checkLock checks the lock of an entry, for all of them.
func (m *handle[K, V]) checkLock(ctx context.Context) error {
	return lock.New(m.h.e, keys.EntryLock(m.home(""), "")).Check(ctx)
}
