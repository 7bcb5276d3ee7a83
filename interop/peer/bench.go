package peer

import (
	"context"
	"time"
)

// Bench has threads repeat an operation for a time, and returns how often all of them did it. README.md of the Java
// program lists the scenarios. The figures of a JVM that was started without [Options.Full] mean little.
func (p *Peer) Bench(ctx context.Context, scenario, name string, threads int, d time.Duration) (int64, error) {
	return object{peer: p, thread: "bench", kind: "bench", name: name}.number(ctx, scenario, int64(threads), d)
}
