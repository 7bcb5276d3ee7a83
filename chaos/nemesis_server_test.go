package chaos

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// refusing has the server refuse requests for a while, again and again.
func refusing(kind redistest.Refusal, least, most time.Duration) func(context.Context, *field) {
	return often(20*time.Millisecond, 300*time.Millisecond, func(ctx context.Context, f *field) bool {
		var accept func()
		return f.during(ctx, f.between(least, most), kind.Name, everyone, func() { accept = f.server.Refuse(kind) }, func() { accept() })
	})
}

// answered has the proxies refuse requests in the server's place.
func answered(match redistest.Match, err string) func(context.Context, *field) {
	return often(20*time.Millisecond, 300*time.Millisecond, func(ctx context.Context, f *field) bool {
		var rules []*redistest.Rule
		return f.during(ctx, f.between(50*time.Millisecond, watchdog), err, everyone, f.each(func(p *redistest.Proxy) {
			rules = append(rules, p.Answer(match, err))
		}), func() {
			for _, r := range rules {
				r.Cancel()
			}
		})
	})
}

// needsData matches what a server refuses that loads its data. PING is not among them: rueidis sends one after each UNSUBSCRIBE, and
// ends the process if the answer is an error.
func needsData(cmd []string) bool {
	return !redistest.Command("hello", "auth", "client", "info", "ping", "subscribe", "ssubscribe", "psubscribe",
		"unsubscribe", "sunsubscribe", "punsubscribe", "multi", "exec", "discard", "script", "command", "quit", "role", "cluster", "readonly")(cmd)
}

var refusalNemeses = []nemesis{
	{name: "out-of-memory", group: "refusals", holdOn: true, breaks: refusing(redistest.OutOfMemory, 50*time.Millisecond, watchdog)},
	{name: "no-replicas", group: "refusals", holdOn: true, breaks: refusing(redistest.NoReplicas, 50*time.Millisecond, watchdog)},
	{name: "no-permission", group: "refusals", breaks: refusing(redistest.NoScripts, 20*time.Millisecond, 300*time.Millisecond)},
	{name: "no-channels", group: "refusals", breaks: refusing(redistest.NoChannels, 50*time.Millisecond, watchdog)},
	{name: "failed-save", group: "refusals", holdOn: true, breaks: answered(redistest.AnyScript(),
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.")},
	{name: "loading", group: "refusals", breaks: answered(needsData, "LOADING Redis is loading the dataset in memory")},
	{name: "forgotten-scripts", group: "refusals", breaks: often(5*time.Millisecond, 60*time.Millisecond, func(ctx context.Context, f *field) bool {
		return f.during(ctx, 0, "SCRIPT FLUSH", everyone, f.server.FlushScripts, func() {})
	})},
	{name: "killed-connections", group: "refusals", breaks: often(20*time.Millisecond, 200*time.Millisecond, func(ctx context.Context, f *field) bool {
		kind := []string{"normal", "pubsub"}[f.rnd.IntN(2)]
		return f.during(ctx, 0, "CLIENT KILL", everyone, func() { f.do("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes") }, func() {})
	})},
	// Sentinels would take the server for dead: what they publish waits with the writes, and their next PINGs after that.
	{name: "paused-writes", group: "refusals", on: []string{onSingle, onCluster, onFive}, holdOn: true, breaks: often(50*time.Millisecond, 300*time.Millisecond, func(ctx context.Context, f *field) bool {
		return f.during(ctx, f.between(20*time.Millisecond, watchdog), "CLIENT PAUSE", everyone,
			func() { f.do("CLIENT", "PAUSE", "60000", "WRITE") }, func() { f.do("CLIENT", "UNPAUSE") })
	})},
	// The server remembers one key of all that clients have read, and tells them that they have to forget the others.
	{name: "small-tracking-table", group: "refusals", breaks: throughout("tracking table", func(f *field) func() {
		f.do("CONFIG", "SET", "tracking-table-max-keys", "1")
		return func() { f.do("CONFIG", "SET", "tracking-table-max-keys", "1000000") }
	})},
}

var serverNemeses = []nemesis{
	{name: "stopped-server", group: "server", on: []string{onSingle, onFive}, holdOn: true, breaks: often(100*time.Millisecond, 400*time.Millisecond, func(ctx context.Context, f *field) bool {
		return f.during(ctx, f.between(50*time.Millisecond, watchdog), "stopped server", everyone, f.server.Pause, f.server.Resume)
	})},
	// A server that writes each change to its disk is killed, and started again.
	{name: "restarted-server", group: "server", holdOn: true, breaks: func(ctx context.Context, f *field) {
		defer f.server.Persist()()
		often(100*time.Millisecond, 500*time.Millisecond, func(ctx context.Context, f *field) bool {
			return f.during(ctx, f.between(0, 500*time.Millisecond), "dead server", everyone, f.server.Kill, f.server.Restart)
		})(ctx, f)
	}},
	// The server is silent for longer than waiters bear it.
	{name: "silent-server", group: "server", lasts: outage + 2*time.Second, patient: true, breaks: func(ctx context.Context, f *field) {
		if sleep(ctx, f.between(300*time.Millisecond, time.Second)) {
			f.during(ctx, outage, silent, everyone, f.server.Pause, f.server.Resume)
		}
		<-ctx.Done()
	}},
}
