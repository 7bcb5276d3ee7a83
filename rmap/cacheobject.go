package rmap

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/fairlock"
	"github.com/rueidisson/rueidisson/internal/engine"
	"github.com/rueidisson/rueidisson/latch"
	"github.com/rueidisson/rueidisson/rwlock"
	"github.com/rueidisson/rueidisson/semaphore"
)

// RenameIfAbsent is [Cache.Rename] if nothing has the new name, and reports whether that is
// so and there is such a map.
//
// Cost: one script call. Errors: as [Map.Put]. Source: RMapCache.renamenx.
func (m *Cache[K, V]) RenameIfAbsent(ctx context.Context, to string) (bool, error) {
	return m.m.rename(ctx, to, objectOf, true)
}

// Copy copies the map under another name, with its times, if nothing has that, and
// reports whether that is so and there is such a map. The server does nothing else
// meanwhile, about a second for a million entries. On a cluster both names share a hash tag.
// What expires under the new name is swept by those who use that.
//
// Cost: one script call. Wire: COPY. Errors: as [Map.Put]. Source: RMapCache.copy.
func (m *Cache[K, V]) Copy(ctx context.Context, to string) (bool, error) {
	return m.m.copyTo(ctx, to, objectOf)
}

// ExpireAt is [Cache.Expire] at a time, by the clock of the server. A time that has passed
// ends it at once.
//
// Cost: one script call. Wire: PEXPIREAT. Errors: as [Map.Put]. Source: RMapCache.expire.
func (m *Cache[K, V]) ExpireAt(ctx context.Context, at time.Time) (there bool, err error) {
	ms, err := engine.Instant(at)
	if err == nil {
		there, err = m.setTime(ctx, ms)
	}
	return there, m.m.failed("expire", err)
}

// SizeInMemory is about how many bytes the map takes on the server, 0 if there is none.
// An ACL has to allow memory|usage.
//
// Cost: one script call. Wire: MEMORY USAGE. Errors: as [Map.Has]. Source: RMapCache.sizeInMemory.
func (m *Cache[K, V]) SizeInMemory(ctx context.Context) (int64, error) { return m.m.sizeInMemory(ctx) }

// FairLock is the fair lock of the entry of k, there or not, {name}:<hash of the key>:fairlock.
// A key that cannot be used is an [ErrOption] of its operations. Source: RMapCache.getFairLock.
func (m *Cache[K, V]) FairLock(k K) *fairlock.Lock { return m.m.fairLockOf(k) }

// RWLock is the read-write lock of the entry of k, there or not, {name}:<hash of the key>:rw_lock.
// A key that cannot be used is an [ErrOption] of its operations. Source: RMapCache.getReadWriteLock.
func (m *Cache[K, V]) RWLock(k K) *rwlock.Lock { return m.m.rwLockOf(k) }

// Semaphore is the semaphore of the entry of k, there or not, {name}:<hash of the key>:semaphore.
// A key that cannot be used is an [ErrOption] of its operations. Source: RMapCache.getSemaphore.
func (m *Cache[K, V]) Semaphore(k K) *semaphore.Semaphore { return m.m.semaphoreOf(k) }

// PermitSemaphore is the semaphore of permits with leases of the entry of k, there or not, {name}:<hash of the key>:permitexpirablesemaphore.
// A key that cannot be used is an [ErrOption] of its operations. Source: RMapCache.getPermitExpirableSemaphore.
func (m *Cache[K, V]) PermitSemaphore(k K) *semaphore.PermitSemaphore { return m.m.permitsOf(k) }

// Latch is the latch of the entry of k, there or not, {name}:<hash of the key>:countdownlatch. On a cluster it is an
// [ErrOption], since the names of latches have no braces there.
// A key that cannot be used is an [ErrOption] of its operations. Source: RMapCache.getCountDownLatch.
func (m *Cache[K, V]) Latch(k K) *latch.Latch { return m.m.latchOf(k) }
