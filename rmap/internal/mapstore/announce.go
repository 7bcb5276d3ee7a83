package mapstore

import (
	"context"
	"encoding/binary"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/send"
)

// What near caches are told, as Redisson's RLocalCachedMap does: by the first byte.
const (
	MsgClear      byte = 0
	MsgInvalidate byte = 1
	MsgUpdate     byte = 2
	MsgDisable    byte = 3
	MsgAck        byte = 4
	MsgEnable     byte = 5

	// MsgKeys is ours: what a script of a cache drops by itself, see tell.lua of mapcache.
	MsgKeys byte = 'R'
)

// tellArgs is how many arguments tell of one entry.
const tellArgs = 5

// tell returns args with what near caches are told that the entries of these keys have
// changed: each step-th is one. See announce.lua.
func (s *Sender) tell(args, changed []string, step int) []string {
	if !s.announces {
		return args
	}
	message := s.invalidation(changed, step)
	args = append(args, s.Hub.Engine.Publish(), keys.NearChannel(s.Key), message, Decimal(s.Hub.Engine.Wall()))
	return append(args, logOf(message)...)
}

// invalidation returns what near caches are told of entries.
func (s *Sender) invalidation(changed []string, step int) string {
	n := len(changed) / step
	b := append(append(make([]byte, 0, invalidations+16*n), MsgInvalidate), s.Hub.ID...)
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	for i := 0; i < len(changed); i += step {
		hash := keys.Hash(changed[i])
		b = append(b, hash[:]...)
	}
	return string(b)
}

// invalidations is where the hashes in an invalidation begin.
const invalidations = 1 + 16 + 4

// logOf returns what their log is told of each entry of an invalidation.
func logOf(message string) []string {
	logged := make([]string, 0, (len(message)-invalidations)/16)
	for i := invalidations; i < len(message); i += 16 {
		logged = append(logged, message[i:i+16]+":"+random(8))
	}
	return logged
}

// putTold returns the arguments of put_told.lua.
func (s *Sender) putTold(pairs []string) []string {
	message := s.invalidation(pairs, 2)
	logged := logOf(message)
	args := append(make([]string, 0, 4+3*len(logged)), s.Hub.Engine.Publish(), keys.NearChannel(s.Key), message, Decimal(s.Hub.Engine.Wall()))
	for i, entry := range logged {
		args = append(args, pairs[2*i], pairs[2*i+1], entry)
	}
	return args
}

// tellOne tells of one entry.
func (s *Sender) tellOne(key string, args ...string) []string {
	return s.tell(args, []string{key}, 1)
}

// TellAll tells of all entries.
func (s *Sender) TellAll(args ...string) []string { return s.TellAllOf(s.Key, args...) }

// TellAllOf tells of all entries of the map of that key.
func (s *Sender) TellAllOf(key string, args ...string) []string {
	if !s.announces {
		return args
	}
	return append(args, s.Hub.Engine.Publish(), keys.NearChannel(key), s.Hub.cleared())
}

// TellBoth tells of all entries of a map and of the one whose name it takes, for rename.lua.
func (s *Sender) TellBoth(to string, args ...string) []string {
	if !s.announces {
		return args
	}
	cleared := s.Hub.cleared()
	return append(args, s.Hub.Engine.Publish(), keys.NearChannel(s.Key), cleared, keys.NearChannel(to), cleared)
}

// cleared says that a map has no entries any more, and that nobody waits for those
// who hear it.
func (h *Hub) cleared() string {
	return string(append(append([]byte{MsgClear}, h.ID+random(16)...), 0))
}

// publish returns how the scripts of a cache publish, with what near caches are told of the entries
// of these keys: each step-th is one.
func (c *Cached) publish(changed []string, step int) string {
	if !c.announces {
		return c.Hub.Engine.Publish()
	}
	return c.Names.Publish(c.Hub.Engine.Publish(), c.invalidation(changed, step))
}

// DropAll deletes a map of one hash.
func (s *Sender) DropAll(ctx context.Context) (send.Answer, error) {
	if !s.announces {
		return s.Delete(ctx, []string{s.Key})
	}
	return s.Write(ctx, DropScript, s.Keys(), s.TellAll()...)
}
