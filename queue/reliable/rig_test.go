package reliable

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// soon bounds what has to happen, on a machine however slow.
var soon = redistest.Soon

// engineOn returns an engine for texts, on a client that somebody else closes.
var engineOn = enginetest.Texts

// onServers runs a test on every kind of server, at the same time.
func onServers(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) { test(t, rigOn(t, raw)) })
}

// onServersTogether is onServers for a test that waits for most of its time.
func onServersTogether(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	redistest.OnServersTogether(t, func(t *testing.T, raw rueidis.Client) { test(t, rigOn(t, raw)) })
}

var miniredisClient, onReal, onRealTogether = redistest.MiniredisClient, redistest.OnStarted, redistest.OnStartedTogether

// rig is a queue of texts, and the server that it is on.
type rig struct {
	*Queue[string]
	t   testing.TB
	raw rueidis.Client
	e   *locking.Engine
}

func rigOn(t testing.TB, raw rueidis.Client, opts ...Option) *rig {
	t.Helper()
	r := &rig{t: t, raw: raw, e: engineOn(t, raw)}
	r.Queue = New[string](r.e, redistest.Name(t), opts...)
	return r
}

// with is the same queue by another handle of the same client.
func (r *rig) with(opts ...Option) *rig {
	other := *r
	other.Queue = New[string](r.e, r.name, opts...)
	return &other
}

// other is the same queue by another client.
func (r *rig) other(opts ...Option) *rig {
	other := &rig{t: r.t, raw: r.raw, e: engineOn(r.t, r.raw)}
	other.Queue = New[string](other.e, r.name, opts...)
	return other
}

func (r *rig) adds(v string, opts ...AddOption) int64 {
	r.t.Helper()
	id, err := r.Add(r.t.Context(), v, opts...)
	require.NoError(r.t, err, v)
	return id
}

// gets receives a message, which is to be v.
func (r *rig) gets(v string) *Message[string] {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), soon)
	defer cancel()
	m, err := r.Receive(ctx)
	require.NoError(r.t, err, "instead of %q", v)
	require.Equal(r.t, v, m.Value)
	return m
}

func (r *rig) acks(v ...string) {
	r.t.Helper()
	for _, v := range v {
		require.NoError(r.t, r.gets(v).Ack(r.t.Context()))
	}
}

// isEmpty finds nothing that is ready.
func (r *rig) isEmpty() {
	r.t.Helper()
	m, err := r.Poll(r.t.Context())
	require.ErrorIs(r.t, err, ErrEmpty, "%v", m)
}

func (r *rig) do(command ...string) rueidis.RedisMessage {
	r.t.Helper()
	return redistest.Do(r.t, r.raw, command...)
}

// part is the key of a part of the queue.
func (r *rig) part(name string) string {
	for _, key := range r.of.parts {
		if strings.HasPrefix(key, "rueidisson_queue_"+name+":") {
			return key
		}
	}
	r.t.Fatalf("no part %q", name)
	return ""
}

func (r *rig) counter(name string) int64 {
	r.t.Helper()
	m := r.do("HGET", r.part("meta"), name)
	n, err := m.AsInt64()
	if rueidis.IsRedisNil(err) {
		return 0
	}
	require.NoError(r.t, err)
	return n
}

// leaves checks that nothing is left but the counters, and who waits.
func (r *rig) leaves() {
	r.t.Helper()
	for _, key := range r.of.parts {
		name := strings.TrimPrefix(strings.SplitN(key, ":", 2)[0], "rueidisson_queue_")
		switch name {
		case "meta", "idle", "keeper", "deputy", "finished", "finished_until": // which end by themselves
			continue
		}
		n, err := asInt(r.do("EXISTS", key))
		require.NoError(r.t, err)
		require.Zero(r.t, n, "%s is there", key)
	}
}

func asInt(m rueidis.RedisMessage) (int64, error) { return m.AsInt64() }

// timeout bounds what has to happen soon.
func timeout(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), soon)
}
