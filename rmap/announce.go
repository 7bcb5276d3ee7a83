package rmap

import (
	"context"
	"encoding/binary"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/send"
)

// What near caches are told, as Redisson's RLocalCachedMap does: by the first byte.
const (
	msgClear      byte = 0
	msgInvalidate byte = 1
	msgUpdate     byte = 2
	msgDisable    byte = 3
	msgAck        byte = 4
	msgEnable     byte = 5

	// msgKeys is ours: what a script of a cache drops by itself, see tell.lua of mapcache.
	msgKeys byte = 'R'
)

// tellArgs is how many arguments tell of one entry.
const tellArgs = 5

// tell returns args with what near caches are told that the entries of these keys have
// changed: each step-th is one. See announce.lua.
func (s *sender) tell(args, changed []string, step int) []string {
	if !s.announces {
		return args
	}
	message := s.invalidation(changed, step)
	args = append(args, s.h.e.Publish(), keys.NearChannel(s.key), message, decimal(s.h.e.Wall()))
	return append(args, logOf(message)...)
}

// invalidation returns what near caches are told of entries.
func (s *sender) invalidation(changed []string, step int) string {
	n := len(changed) / step
	b := append(append(make([]byte, 0, invalidations+16*n), msgInvalidate), s.h.id...)
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
func (s *sender) putTold(pairs []string) []string {
	message := s.invalidation(pairs, 2)
	logged := logOf(message)
	args := append(make([]string, 0, 4+3*len(logged)), s.h.e.Publish(), keys.NearChannel(s.key), message, decimal(s.h.e.Wall()))
	for i, entry := range logged {
		args = append(args, pairs[2*i], pairs[2*i+1], entry)
	}
	return args
}

// tellOne tells of one entry.
func (s *sender) tellOne(key string, args ...string) []string {
	return s.tell(args, []string{key}, 1)
}

// tellAll tells of all entries.
func (s *sender) tellAll(args ...string) []string { return s.tellAllOf(s.key, args...) }

// tellAllOf tells of all entries of the map of that key.
func (s *sender) tellAllOf(key string, args ...string) []string {
	if !s.announces {
		return args
	}
	return append(args, s.h.e.Publish(), keys.NearChannel(key), s.h.cleared())
}

// tellBoth tells of all entries of a map and of the one whose name it takes, for rename.lua.
func (s *sender) tellBoth(to string, args ...string) []string {
	if !s.announces {
		return args
	}
	cleared := s.h.cleared()
	return append(args, s.h.e.Publish(), keys.NearChannel(s.key), cleared, keys.NearChannel(to), cleared)
}

// cleared says that a map has no entries any more, and that nobody waits for those
// who hear it.
func (h *hub) cleared() string {
	return string(append(append([]byte{msgClear}, h.id+random(16)...), 0))
}

// publish returns how the scripts of a cache publish, with what near caches are told of the entries
// of these keys: each step-th is one.
func (c *cached) publish(changed []string, step int) string {
	if !c.announces {
		return c.h.e.Publish()
	}
	return c.n.Publish(c.h.e.Publish(), c.invalidation(changed, step))
}

// dropAll deletes a map of one hash.
func (s *sender) dropAll(ctx context.Context) (send.Answer, error) {
	if !s.announces {
		return s.delete(ctx, []string{s.key})
	}
	return s.write(ctx, dropScript, s.keys(), s.tellAll()...)
}
