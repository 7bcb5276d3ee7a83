package lock

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// full is the scripts on a server that will be full.
type full struct {
	t   *testing.T
	raw rueidis.Client
	e   *locking.Engine
}

func newFull(t *testing.T, version string) *full {
	t.Helper()
	server := redistest.Start(t, redistest.Version(version))
	// The client is closed by its engine.
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}, DisableCache: true, ForceSingleClient: true})
	require.NoError(t, err)
	e, err := locking.New(t.Context(), client, core.Config{ClientID: owner.NewClient(), WatchdogTimeout: 12 * time.Second, Owned: true})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, locking.Close(context.Background(), e)) })
	return &full{t, server.Client(t), e}
}

// fill makes the server refuse whatever may need memory.
func (f *full) fill() {
	f.t.Helper()
	require.NoError(f.t, f.raw.Do(f.t.Context(), f.raw.B().ConfigSet().ParameterValue().ParameterValue("maxmemory", "1").Build()).Error())
	_, err := newProtocol(f.e, "new").Acquire(f.t.Context(), locking.Try{Owner: f.e.IDs.Private(), Lease: time.Minute})
	require.ErrorContains(f.t, err, "OOM", "or this test shows nothing")
}

// hold is a name that owner holds; joined adds a level.
func (f *full) hold(name, owner string, joined ...string) *protocol {
	f.t.Helper()
	p := newProtocol(f.e, name)
	tried, err := p.Acquire(f.t.Context(), locking.Try{Owner: owner, Lease: time.Minute})
	require.NoError(f.t, err)
	require.True(f.t, tried.Free)
	for _, request := range joined {
		tried, err := p.Join(f.t.Context(), owner, request, time.Minute)
		require.NoError(f.t, err)
		require.True(f.t, tried.Free)
	}
	return p
}

// count is the levels of the holder, 0 if there is none.
func (f *full) count(p *protocol) int {
	f.t.Helper()
	holder, err := p.inspect(f.t.Context())
	require.NoError(f.t, err)
	return holder.Count
}

// Whatever gives back or renews works on a server without memory: how else
// would it get some.
func TestWhatGivesBackOrRenewsWorksOnAFullServer(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			f, ctx := newFull(t, version), t.Context()
			private, shared := f.e.IDs.Private(), f.e.IDs.Exported()
			const request, another = "0123456789abcdef0123456789abcdef", "f123456789abcdef0123456789abcdef"
			released, given, renewed, renamed := f.hold("release", private), f.hold("giveback", private), f.hold("renew", private), f.hold("export", private)
			last, level, left, forced := f.hold("last", shared), f.hold("level", shared, request), f.hold("leave", shared, request), f.hold("force", private)
			f.fill()

			answer, err := released.Release(ctx, private)
			require.NoError(t, err)
			require.True(t, answer.Held)
			require.Zero(t, f.count(released))

			answer, err = given.GiveBack(ctx, private)
			require.NoError(t, err)
			require.True(t, answer.Held)
			score, err := f.raw.Do(ctx, f.raw.B().Zscore().Key(given.tombstones()).Member(private).Build()).AsFloat64()
			require.NoError(t, err)
			require.Positive(t, score, "the tombstone stands")

			k, a := lease.LockRenewal.Add(nil, nil, renewed.Key(), private, time.Hour)
			_, err = f.e.Run(ctx, lease.LockRenewal.Script, k, a)
			require.NoError(t, err)
			holder, err := renewed.inspect(ctx)
			require.NoError(t, err)
			require.Greater(t, holder.Remaining, 30*time.Minute)

			stands, err := renamed.Export(ctx, private, shared)
			require.NoError(t, err)
			require.True(t, stands)

			held, err := last.Unlock(ctx, shared, request, time.Minute)
			require.NoError(t, err)
			require.True(t, held)
			require.Zero(t, f.count(last))
			held, err = level.Unlock(ctx, shared, another, time.Minute)
			require.NoError(t, err)
			require.True(t, held)
			require.Equal(t, 1, f.count(level))

			for range 2 {
				require.NoError(t, left.Leave(ctx, shared, request))
				require.Equal(t, 1, f.count(left))
			}
			taken, err := forced.force(ctx)
			require.NoError(t, err)
			require.True(t, taken)
		})
	}
}
