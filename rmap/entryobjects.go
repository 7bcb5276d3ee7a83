package rmap

import (
	"github.com/rueidisson/rueidisson/fairlock"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/latch"
	"github.com/rueidisson/rueidisson/rwlock"
	"github.com/rueidisson/rueidisson/semaphore"
)

// The kinds of objects that an entry has, as Redisson names them.
const (
	entryFairLock = "fairlock"
	entryRWLock   = "rw_lock"
	entrySem      = "semaphore"
	entryPermits  = "permitexpirablesemaphore"
	entryLatch    = "countdownlatch"
)

// entryObject returns the name of an object of the entry of k: empty, which each of its operations
// refuses, if the handle or the key cannot be used. A name mapper maps it once more, as in
// Java.
func (m *handle[K, V]) entryObject(k K, kind string) string {
	if m.bad != nil {
		return ""
	}
	key, err := m.keyText(k)
	if err != nil {
		return ""
	}
	return keys.Suffix(m.home(key), keys.GroupField(key)+":"+kind)
}

func (m *handle[K, V]) fairLockOf(k K) *fairlock.Lock {
	return fairlock.New(m.h.e, m.entryObject(k, entryFairLock))
}

func (m *handle[K, V]) rwLockOf(k K) *rwlock.Lock {
	return rwlock.New(m.h.e, m.entryObject(k, entryRWLock))
}

func (m *handle[K, V]) semaphoreOf(k K) *semaphore.Semaphore {
	return semaphore.New(m.h.e, m.entryObject(k, entrySem))
}

func (m *handle[K, V]) permitsOf(k K) *semaphore.PermitSemaphore {
	return semaphore.NewPermits(m.h.e, m.entryObject(k, entryPermits))
}

func (m *handle[K, V]) latchOf(k K) *latch.Latch {
	return latch.New(m.h.e, m.entryObject(k, entryLatch))
}
