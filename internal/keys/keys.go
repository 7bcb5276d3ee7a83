// Package keys spells every Redis key and channel that rueidisson shares with
// Redisson, in one place. A name that contains no "{" is wrapped in a hash tag
// in each key derived from it, so that all keys of one object share a cluster
// slot; a name that has braces of its own is used as it is.
package keys

import (
	"errors"
	"strconv"
	"strings"
)

// ErrSlot says that a name cannot be used on a cluster: the keys and channels
// derived from it would hash to different slots.
var ErrSlot = errors.New("its derived keys would fall into different cluster slots")

// Prefix returns Redisson's prefix rule: prefix:{name}, or prefix:name where the
// name brings its own braces.
func Prefix(prefix, name string) string {
	if strings.IndexByte(name, '{') >= 0 {
		return prefix + ":" + name
	}
	return prefix + ":{" + name + "}"
}

// LockChannel names the channel on which the release of a lock is announced, by either library.
func LockChannel(name string) string { return Prefix("redisson_lock__channel", name) }

// GroupChannel names the channel on which this library announces which fields of a group were released.
func GroupChannel(name string) string { return Prefix("rueidisson_group", name) }

// FairQueue returns the list of those who wait for a fair lock.
func FairQueue(name string) string { return Prefix("redisson_lock_queue", name) }

// FenceToken returns the counter of a lock's fencing tokens.
func FenceToken(name string) string { return Prefix("redisson_lock_token", name) }

// FenceGuard names the key that says what a guarded key has seen: the highest fencing token of each
// lock.
func FenceGuard(key string) string { return Suffix(key, "rueidisson_fence") }

// UnlockLatch remembers the answer to one counted unlock, so that a second run
// of the same request changes nothing. Java reads and writes its own only.
func UnlockLatch(name, request string) string {
	return Prefix("redisson_unlock_latch", name) + ":" + request
}

// JoinLatch remembers the answer to one join; Redisson has no such request.
func JoinLatch(name, request string) string {
	return Prefix("rueidisson_join_latch", name) + ":" + request
}

// Tombstones returns the owners that will never hold the lock again, so that an
// acquire which reaches the server late takes nothing.
func Tombstones(name string) string { return Prefix("rueidisson_gone", name) }

// RWChannel names the channel on which the release of a read-write lock is announced, by either
// library: 0 by its last reader, 1 by its writer.
func RWChannel(name string) string { return Prefix("redisson_rwlock", name) }

// ReaderMark returns the key of one level of a reader of a read-write lock, which
// stands for as long as the lease of that level, for either library.
func ReaderMark(name, owner string, level int) string {
	return Suffix(name, owner) + ":rwlock_timeout:" + strconv.Itoa(level)
}

// RWClaims returns the clients whose writers wait for a read-write lock and go first.
func RWClaims(name string) string { return Prefix("rueidisson_rw_writers", name) }

// RWReaders returns the clients whose readers wait for it.
func RWReaders(name string) string { return Prefix("rueidisson_rw_readers", name) }

// RWTurn returns those of them who go first at present.
func RWTurn(name string) string { return Prefix("rueidisson_rw_turn", name) }

// OnCluster returns ErrSlot for a name whose derived keys do not share its
// slot: only names without braces, and names whose first tag is well formed
// and not empty, keep together.
func OnCluster(name string) error {
	open, closing := strings.IndexByte(name, '{'), strings.IndexByte(name, '}')
	switch {
	case open < 0 && closing < 0:
		return nil
	case open < 0 || closing < open+2:
		return ErrSlot
	}
	return nil
}
