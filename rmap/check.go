package rmap

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/rueidisson/rueidisson/internal/check"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

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
		Engine: m.Hub.Engine, Kind: m.Kind, Name: m.Name, Bad: m.Bad,
		Commands: append(commands, mapstore.ReadCommands, mapstore.WholeCommands, mapstore.SizeCommands),
		Looks:    []check.Look{oneEntry(m.Key, len(types) > 1)},
	}
	if m.Bad != nil {
		return o
	}
	for i, key := range m.Store.Object() {
		is := check.Hash
		if i < len(types) {
			is = types[i]
		}
		o.Keys = append(o.Keys, check.Key{Name: key, Type: is})
		if i == 0 {
			o.Keys = append(o.Keys, check.Each(check.String, keys.MapDone(m.Key, "")), check.Each(check.String, keys.MapClaim(m.Key, "")))
			if m.Config.Announce {
				o.Keys = append(o.Keys, check.Key{Name: keys.NearLog(m.Key), Type: check.ZSet})
			}
		}
	}
	if m.Config.Announce {
		o.Channels = append(o.Channels, m.Hub.Engine.Channel(keys.NearChannel(m.Key)))
	}
	return o
}

func (m *handle[K, V]) check(ctx context.Context, o check.Object) error {
	err := check.Run(ctx, o)
	if err == nil && m.Ready != nil {
		err = m.Failed("check", m.Ready(ctx))
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
	return m.m.check(ctx, m.m.checked([]string{check.Hash}, mapstore.PlainCommands, mapstore.AddCommands))
}

// Check does what [Map.Check] does, and asks whether the server has times to live of entries.
//
// Cost: as [Map.Check], and one script call for the first map. Errors: as [Map.Check];
// errors.ErrUnsupported.
func (m *TTLMap[K, V]) Check(ctx context.Context) error {
	o := m.m.checked([]string{check.Hash}, mapstore.FieldCommands, mapstore.AddCommands)
	if m.m.Bad == nil {
		o.Keys = append(o.Keys, check.Each(check.String, keys.MapLoad(m.m.Key, "")))
	}
	return m.m.check(ctx, o)
}

// Check does what [Map.Check] does, and looks at the times and the bound.
//
// Cost and errors: as [Map.Check].
func (m *Cache[K, V]) Check(ctx context.Context) error {
	o := m.m.checked([]string{check.Hash, check.ZSet, check.ZSet, check.ZSet, check.Hash}, mapcache.Commands)
	if m.m.Bad == nil {
		o.Keys = append(o.Keys, check.Key{Name: keys.SweepLatch(m.m.Key), Type: check.String}, check.Each(check.String, keys.MapLease(m.m.Key)))
		for kind := mapcache.Created; kind <= mapcache.Expired; kind++ {
			o.Channels = append(o.Channels, m.m.Hub.Engine.Channel(kind.Channel(m.m.Key)))
		}
	}
	return m.m.check(ctx, o)
}

// Check does what [Map.Check] does, and looks at every shard. It asks what the ACL permits for the
// first shard only. It does not compare how many shards there are.
//
// Cost: one script call, and one for each 512 shards; on a cluster one for each shard, up to 32 at
// the same time. Errors: as [Map.Check].
func (m *Sharded[K, V]) Check(ctx context.Context) error {
	o := m.m.checked([]string{check.String}, mapstore.PlainCommands, mapstore.AddCommands, mapstore.ShardCommands)
	o.Looks = nil
	if m.m.Bad == nil {
		asked := 1 // the first shard stands for the others
		if check.Lists(ctx) {
			asked = m.m.Config.Shards
		}
		for i, key := range o.Keys {
			o.Keys[i].More = asked == 1 && key.Type == check.Hash && key.Name != keys.Shard(m.m.Key, 0)
		}
		for i := range asked {
			shard := keys.Shard(m.m.Key, i)
			o.Keys = append(o.Keys, check.Each(check.String, keys.MapDone(shard, "")), check.Each(check.String, keys.MapClaim(shard, "")))
			if m.m.Config.Announce {
				o.Keys = append(o.Keys, check.Key{Name: keys.NearLog(shard), Type: check.ZSet})
				o.Channels = append(o.Channels, m.m.Hub.Engine.Channel(keys.NearChannel(shard)))
			}
		}
	}
	return m.m.check(ctx, o)
}
