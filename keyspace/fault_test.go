package keyspace

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keywalk"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// writes is every operation that writes, on a name of whatever type, with what is left of the name's time.
var writes = map[string]struct {
	do    func(ctx context.Context, k *Keys, name string) (int64, error)
	sends redistest.Match
	left  time.Duration
}{
	"delete":       {func(ctx context.Context, k *Keys, name string) (int64, error) { return k.Delete(ctx, name) }, redistest.Command("UNLINK"), 0},
	"delete match": {func(ctx context.Context, k *Keys, name string) (int64, error) { return k.DeleteMatch(ctx, name) }, redistest.Command("UNLINK"), 0},
	"expire": {func(ctx context.Context, k *Keys, name string) (int64, error) { return k.Expire(ctx, time.Hour, name) },
		redistest.MatchScript(expireScript.Body()), time.Hour},
}

// reads is every operation that reads, with what it says of a name that is there.
var reads = map[string]struct {
	do    func(ctx context.Context, k *Keys, name string) (int64, error)
	sends redistest.Match
}{
	"exists": {func(ctx context.Context, k *Keys, name string) (int64, error) { return k.Exists(ctx, name) }, redistest.Command("EXISTS")},
	"touch":  {func(ctx context.Context, k *Keys, name string) (int64, error) { return k.Touch(ctx, name) }, redistest.Command("TOUCH")},
	"type": {func(ctx context.Context, k *Keys, name string) (int64, error) {
		is, err := k.Type(ctx, name)
		return int64(strings.Count(string(is), "hash")), err
	}, redistest.Command("TYPE")},
	"count match": {func(ctx context.Context, k *Keys, name string) (int64, error) { return k.CountMatch(ctx, name) }, redistest.Command("SCAN")},
	"all": {func(ctx context.Context, k *Keys, name string) (n int64, err error) {
		for _, err := range k.All(ctx, WithMatch(name)) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}, redistest.Command("SCAN")},
	"count": {func(ctx context.Context, k *Keys, _ string) (int64, error) {
		n, err := k.Count(ctx)
		return min(1, n), err
	}, redistest.Command("DBSIZE")},
}

// hash makes a key that is no string.
func hash(t testing.TB, raw rueidis.Client, name string) {
	t.Helper()
	redistest.Do(t, raw, "HSET", name, "f", "v")
	redistest.Do(t, raw, "PEXPIRE", name, strconv.Itoa(int((30 * time.Minute).Milliseconds())))
}

// TestALostReply: what writes was sent once, and says so; what reads is sent again.
func TestALostReply(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for what, one := range writes {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			client, proxy := redistest.ThroughProxy(t, server)
			k, name := New(enginetest.On(t, client)), redistest.Named(t, raw)
			hash(t, raw, name)
			lost := proxy.DropReply(one.sends, 1)
			_, err := one.do(t.Context(), k, name)
			lost.Await(t)
			require.ErrorIs(t, err, ErrOutcomeUnknown)
			require.ErrorContains(t, err, name)
			left := redistest.Left(t, raw, name)
			require.True(t, left <= one.left && left > one.left-time.Minute, left)
		})
	}
	for what, one := range reads {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			client, proxy := redistest.ThroughProxy(t, server)
			k, name := New(enginetest.On(t, client)), redistest.Named(t, raw)
			hash(t, raw, name)
			lost := proxy.DropReply(one.sends, 1)
			number(t, 1)(one.do(t.Context(), k, name))
			lost.Await(t)
		})
	}
}

// TestAServerThatRefuses has each write refused. Then it has changed nothing.
func TestAServerThatRefuses(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for _, why := range []string{
		"OOM command not allowed when used memory > 'maxmemory'.", "MISCONF Redis is configured to save RDB snapshots",
		"NOREPLICAS Not enough good replicas to write.", "READONLY You can't write against a read only replica.",
		"NOPERM User orders has no permissions to run the command",
	} {
		word, _, _ := strings.Cut(why, " ")
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			client, proxy := redistest.ThroughProxy(t, server)
			k, name := New(enginetest.On(t, client)), redistest.Named(t, raw)
			hash(t, raw, name)
			for _, one := range writes {
				proxy.Answer(one.sends, why)
			}
			var all sync.WaitGroup
			for what, one := range writes {
				all.Go(func() {
					n, err := one.do(t.Context(), k, name)
					assert.ErrorContains(t, err, word, what)
					assert.NotErrorIs(t, err, ErrOutcomeUnknown, what)
					assert.Zero(t, n, what)
				})
			}
			all.Wait()
			require.Greater(t, redistest.Left(t, raw, name), 29*time.Minute, "it keeps its time")
			require.LessOrEqual(t, redistest.Left(t, raw, name), 30*time.Minute)
		})
	}
}

// TestAWalkThatIsRefused says so at once if that will not pass.
func TestAWalkThatIsRefused(t *testing.T) {
	t.Parallel()
	client, proxy := redistest.ThroughProxy(t, redistest.Shared(t))
	k := New(enginetest.On(t, client))
	proxy.Answer(redistest.Command("SCAN"), "NOPERM User orders has no permissions to run the 'scan' command")
	_, err := k.CountMatch(t.Context(), "a*")
	require.ErrorContains(t, err, "NOPERM")
	require.ErrorContains(t, err, `count keys "a*"`)
}

// TestABrokenConnectionInAWalk goes on where it was, as the process is the same; where that is not known, from the beginning.
func TestABrokenConnectionInAWalk(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	begin, names := fill(t, raw, 5000)
	for what, secret := range map[string]bool{"the same": false, "unknown": true} {
		t.Run(what, func(t *testing.T) {
			client, proxy := redistest.ThroughProxy(t, server)
			k := New(enginetest.On(t, client))
			if secret {
				proxy.Answer(redistest.Command("INFO"), "NOPERM User orders has no permissions to run the 'info' command")
			}
			seen := map[string]int{}
			var lost *redistest.Drop
			for name, err := range k.All(t.Context(), WithMatch(begin+"*")) {
				require.NoError(t, err)
				if seen[name]++; len(seen) == 3000 && lost == nil {
					lost = proxy.DropReply(redistest.Command("SCAN"), 1)
				}
			}
			lost.Await(t)
			require.Len(t, seen, len(names))
			twice := 0
			for _, n := range seen {
				twice += min(1, n-1)
			}
			require.Equal(t, secret, twice > len(names)/4, twice)
			lost = proxy.DropReply(redistest.Command("SCAN"), 1)
			number(t, len(names))(k.CountMatch(t.Context(), begin+"*"))
			lost.Await(t)
		})
	}
}

// TestARestartInAWalk loses no key, though the new process numbers its keys otherwise.
func TestARestartInAWalk(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	begin, names := fill(t, raw, 20_000)
	redistest.Do(t, raw, "SAVE")
	k := New(enginetest.On(t, server.Client(t)))
	seen, restarted := map[string]bool{}, false
	for name, err := range k.All(t.Context(), WithMatch(begin+"*")) {
		require.NoError(t, err)
		if seen[name] = true; len(seen) == 10_000 && !restarted {
			restarted = true
			server.Kill()
			server.Restart()
		}
	}
	require.True(t, restarted)
	require.Len(t, seen, len(names))
	number(t, len(names))(k.CountMatch(t.Context(), begin+"*"))
}

// TestAServerThatIsAway has walks and counts end with an error, and not without one.
func TestAServerThatIsAway(t *testing.T) {
	t.Parallel()
	client, proxy := redistest.ThroughProxy(t, redistest.Shared(t))
	k := New(enginetest.On(t, client, enginetest.ShortSends))
	proxy.Refuse()
	proxy.CutAll()
	_, err := k.Count(t.Context())
	require.Error(t, err)
	_, err = k.CountMatch(t.Context(), "a*")
	require.Error(t, err)
	proxy.Accept()
	redistest.Eventually(t, func() bool { _, err := k.CountMatch(t.Context(), "a*"); return err == nil }, redistest.Soon, time.Millisecond)
}

// TestLongNames asks for them in parts: no answer has more than a megabyte.
func TestLongNames(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	begin := redistest.Name(t) + strings.Repeat("n", 5000)
	for i := range 3000 {
		redistest.Do(t, raw, "SET", begin+strconv.Itoa(i), "v")
	}
	e, longest, pages := enginetest.On(t, raw), 0, 0
	k := New(e)
	require.NoError(t, keywalk.Walk(t.Context(), e, keywalk.Query{}, keywalk.Visitor{Page: func(_ rueidis.Client, keys []string) error {
		longest, pages = max(longest, len(strings.Join(keys, ""))), pages+1
		return nil
	}}))
	require.LessOrEqual(t, longest, 1<<20)
	require.Greater(t, pages, 3000*5000>>20)
	number(t, 3000)(k.Exists(t.Context(), listed(t, k)...))
	number(t, 3000)(k.DeleteMatch(t.Context(), begin+"*"))
}

// TestManyKeysComeInPages: no call is about more than a thousand, which takes the server less than a millisecond.
func TestManyKeysComeInPages(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	begin, names := fill(t, server.Client(t), 12_000)
	client, proxy := redistest.ThroughProxy(t, server)
	k := New(enginetest.On(t, client))
	number(t, len(names))(k.CountMatch(t.Context(), begin+"*"))
	number(t, len(names))(k.DeleteMatch(t.Context(), begin+"*"))
	pages, deletes := 0, 0
	for _, cmd := range proxy.Log() {
		switch {
		case redistest.Command("SCAN")(cmd):
			n, err := strconv.Atoi(cmd[slices.Index(cmd, "COUNT")+1])
			require.NoError(t, err)
			require.LessOrEqual(t, n, 1000)
			pages++
		case redistest.Command("UNLINK", "DEL")(cmd):
			require.LessOrEqual(t, len(cmd)-1, 2000, "a page of a server that moves its keys has some more")
			deletes++
		}
	}
	require.Greater(t, pages, 2*len(names)/1000)
	require.Greater(t, deletes, 6)
}

// TestTheACLOfTheDocsDeniesNothingThatIsNeeded runs every operation under the user that docs/redis.md sets up.
func TestTheACLOfTheDocsDeniesNothingThatIsNeeded(t *testing.T) {
	t.Parallel()
	user := redistest.UserOn(t, redistest.Start(t), "../docs/redis.md", "+scan", "+dbsize", "+touch")
	k := New(enginetest.On(t, user.Client(t)))
	for what, one := range reads {
		hash(t, user.Admin, "orders:1")
		number(t, 1)(one.do(t.Context(), k, "orders:1"))
		require.NotEmpty(t, what)
	}
	for _, one := range writes {
		hash(t, user.Admin, "orders:1")
		number(t, 1)(one.do(t.Context(), k, "orders:1"))
	}
	require.NoError(t, k.Check(t.Context(), "orders:1"))
	user.NothingDenied(t)
}
