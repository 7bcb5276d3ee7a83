package embedded

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func startServer(t *testing.T, start func() (*Server, error)) (*Server, rueidis.Client) {
	t.Helper()
	s, err := start()
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s, connect(t, s.ClientOption())
}

func connect(t *testing.T, option rueidis.ClientOption) rueidis.Client {
	t.Helper()
	c, err := rueidis.NewClient(option)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func call(t *testing.T, c rueidis.Client, command ...string) rueidis.RedisResult {
	t.Helper()
	return c.Do(t.Context(), c.B().Arbitrary(command[0]).Args(command[1:]...).Build())
}

func integer(t *testing.T, c rueidis.Client, command ...string) int64 {
	t.Helper()
	n, err := call(t, c, command...).AsInt64()
	require.NoError(t, err, "%q", command)
	return n
}

func TestKeysOfAManualServerExpireWhenItsClockIsMoved(t *testing.T) {
	t.Parallel()
	s, c := startServer(t, StartManual)
	require.NoError(t, call(t, c, "SET", "k", "v", "PX", "1000").Error())
	s.Forward(999 * time.Millisecond)
	assert.EqualValues(t, 1, integer(t, c, "PTTL", "k"))
	s.Forward(time.Millisecond)
	assert.EqualValues(t, 0, integer(t, c, "EXISTS", "k"))
}

func TestTimeAgreesWithExpiry(t *testing.T) {
	t.Parallel()
	s, c := startServer(t, StartManual)
	before := serverTime(t, c)
	s.Forward(time.Hour)
	assert.Equal(t, time.Hour, serverTime(t, c).Sub(before))
}

func serverTime(t *testing.T, c rueidis.Client) time.Time {
	t.Helper()
	parts, err := call(t, c, "TIME").AsIntSlice()
	require.NoError(t, err)
	require.Len(t, parts, 2)
	return time.Unix(parts[0], parts[1]*1000)
}

func TestKeysOfARealServerExpireWithTheMachinesTime(t *testing.T) {
	t.Parallel()
	_, c := startServer(t, Start)
	const ttl = 30 * time.Millisecond
	before := time.Now()
	require.NoError(t, call(t, c, "SET", "k", "v", "PX", "30").Error())
	require.Eventually(t, func() bool {
		n, err := c.Do(context.Background(), c.B().Exists().Key("k").Build()).AsInt64()
		return err == nil && n == 0
	}, time.Minute, time.Millisecond)
	assert.GreaterOrEqual(t, time.Since(before), ttl-step)
}

// A key is charged only with the time behind its command, however long the
// server was idle before.
func TestAKeyIsNotChargedForTheTimeBeforeItWasSet(t *testing.T) {
	t.Parallel()
	s, c := startServer(t, Start)
	s.clock.mu.Lock()
	s.clock.now = func() time.Time { return time.Now().Add(time.Hour) }
	s.clock.mu.Unlock()
	require.NoError(t, call(t, c, "SET", "k", "v", "PX", "60000").Error())
	assert.Greater(t, integer(t, c, "PTTL", "k"), int64(30_000))
}

func TestTimeStandsStillDuringAScript(t *testing.T) {
	t.Parallel()
	s, c := startServer(t, Start)
	done := make(chan struct{})
	go func() {
		defer close(done)
		other, err := rueidis.NewClient(s.ClientOption())
		if err != nil {
			return
		}
		defer other.Close()
		for range 200 {
			other.Do(context.Background(), other.B().Ping().Build())
		}
	}()
	const script = `
redis.call('set', KEYS[1], 'v', 'px', 5)
local first = redis.call('time')
for i = 1, 20000 do redis.call('get', KEYS[1]) end
local last = redis.call('time')
return {redis.call('pttl', KEYS[1]), first[1] == last[1] and first[2] == last[2] and 1 or 0}`
	got, err := call(t, c, "EVAL", script, "1", "k").AsIntSlice()
	require.NoError(t, err)
	assert.Equal(t, []int64{5, 1}, got)
	<-done
}

func TestItIsNoCluster(t *testing.T) {
	t.Parallel()
	s, _ := startServer(t, Start)
	option := s.ClientOption()
	option.ForceSingleClient = false
	c := connect(t, option)
	assert.NotEqual(t, rueidis.ClientModeCluster, c.Mode())
}

func TestTheURLReachesTheServer(t *testing.T) {
	t.Parallel()
	s, first := startServer(t, Start)
	option, err := rueidis.ParseURL(s.URL())
	require.NoError(t, err)
	second := connect(t, option)
	assert.NotEqual(t, rueidis.ClientModeCluster, second.Mode())

	heard := make(chan string, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ready := make(chan struct{}, 1)
	ended := make(chan error, 1)
	go func() {
		hooked := rueidis.WithOnSubscriptionHook(ctx, func(rueidis.PubSubSubscription) { ready <- struct{}{} })
		ended <- second.Receive(hooked, second.B().Subscribe().Channel("news:1").Build(), func(m rueidis.PubSubMessage) { heard <- m.Message })
	}()
	<-ready
	s.Announce("other:*", "not this")
	s.Announce("news:*", "hello")
	assert.Equal(t, "hello", <-heard)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.NoError(t, first.Do(t.Context(), first.B().Ping().Build()).Error())
}

func TestConnectionsThatCloseAreForgotten(t *testing.T) {
	t.Parallel()
	s, _ := startServer(t, Start)
	c, err := rueidis.NewClient(s.ClientOption())
	require.NoError(t, err)
	require.NoError(t, c.Do(t.Context(), c.B().Ping().Build()).Error())
	before := s.connections()
	c.Close()
	require.Eventually(t, func() bool { return s.connections() < before }, time.Minute, time.Millisecond)
}

func (s *Server) connections() (n int) {
	s.known.Range(func(any, any) bool { n++; return true })
	return n
}

func TestClosingTwiceIsFine(t *testing.T) {
	t.Parallel()
	s, err := Start()
	require.NoError(t, err)
	s.Close()
	s.Close()
}
