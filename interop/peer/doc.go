// Package peer starts a JVM with the real Redisson and lets a test drive it.
//
//	java := peer.Start(t, peer.Options{Addr: server.Addr()})
//	theirs := java.Lock("t1", "orders") // RLock "orders", used by the Java thread t1
//	err := theirs.Lock(ctx)
//
// For Redisson the owner of a lock is a thread, so every call names one; a name stands for the same
// thread as long as the JVM lives. Calls of one thread run one after the other, those of different
// threads at the same time. A call that waits in Java does not hold up the calls of other threads.
//
// The JVM is built from interop/java: once for each version of Redisson, again when the sources have
// changed, with Maven offline if that suffices; the command in interop/jars does it before the tests. It dies with the test process, whatever ends that.
package peer
