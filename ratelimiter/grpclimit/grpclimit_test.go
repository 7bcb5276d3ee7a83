package grpclimit_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/grpclimit"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
)

func open(t testing.TB, addr string) *rueidisson.Client {
	t.Helper()
	c, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{addr}, ForceSingleClient: true, DisableCache: true})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		assert.NoError(t, c.Close(ctx))
	})
	return c
}

func limiter(t testing.TB, c *rueidisson.Client, r ratelimiter.Rate, opts ...ratelimiter.Option) *ratelimiter.Limiter {
	t.Helper()
	l := c.RateLimiter(redistest.Name(t)+"/"+r.String(), opts...)
	_, _, err := l.TrySetRate(t.Context(), r)
	require.NoError(t, err)
	return l
}

// patient gives a busy machine time to decide.
var patient = grpclimit.Timeout(30 * time.Second)

// byUser finds the user in the metadata.
var byUser = httplimit.ByHeader("user", httplimit.Plain())

// served is a client of a server behind the limit, over a loopback connection.
func served(t testing.TB, l *ratelimiter.Limiter, key httplimit.Key, f grpclimit.Failure, opts ...grpclimit.Option) healthpb.HealthClient {
	t.Helper()
	limit, err := grpclimit.New(l, key, f, append([]grpclimit.Option{patient}, opts...)...)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := grpc.NewServer(grpc.ChainUnaryInterceptor(limit.Unary), grpc.ChainStreamInterceptor(limit.Stream))
	healthpb.RegisterHealthServer(s, health.NewServer())
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }() // ends with Stop
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, conn.Close())
		s.Stop()
		assert.NoError(t, <-done)
	})
	return healthpb.NewHealthClient(conn)
}

func as(t testing.TB, user string) context.Context {
	return metadata.AppendToOutgoingContext(t.Context(), "user", user)
}

func check(ctx context.Context, c healthpb.HealthClient) error {
	_, err := c.Check(ctx, &healthpb.HealthCheckRequest{})
	return err
}

// watch is a stream's first message.
func watch(ctx context.Context, c healthpb.HealthClient) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := c.Watch(ctx, &healthpb.HealthCheckRequest{})
	if err == nil {
		_, err = s.Recv()
	}
	return err
}

// details are what a status carries.
func details(t testing.TB, err error) (retry time.Duration, violated []string) {
	t.Helper()
	for _, d := range status.Convert(err).Details() {
		switch d := d.(type) {
		case *errdetails.RetryInfo:
			retry = d.RetryDelay.AsDuration()
		case *errdetails.QuotaFailure:
			for _, v := range d.Violations {
				violated = append(violated, v.Subject)
			}
		}
	}
	return retry, violated
}

func TestCallsAndStreamsAreLimited(t *testing.T) {
	t.Parallel()
	l := limiter(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(2))
	c := served(t, l, byUser, grpclimit.FailClosed)
	require.NoError(t, check(as(t, "ann"), c))
	require.NoError(t, watch(as(t, "ann"), c))
	for name, call := range map[string]func(context.Context, healthpb.HealthClient) error{"call": check, "stream": watch} {
		err := call(as(t, "ann"), c)
		require.Equal(t, codes.ResourceExhausted, status.Code(err), "%s: %v", name, err)
		retry, violated := details(t, err)
		assert.Greater(t, retry, 29*time.Minute, name)
		assert.LessOrEqual(t, retry, 30*time.Minute, name)
		assert.Equal(t, []string{l.Name()}, violated, name)
	}
	assert.NoError(t, check(as(t, "bob"), c), "a key of its own")
}

func TestSeveralLimitsAreOneDecision(t *testing.T) {
	t.Parallel()
	client := open(t, redistest.Shared(t).Addr())
	hour, day := limiter(t, client, ratelimiter.PerHour(100)), limiter(t, client, ratelimiter.Rate{N: 1, Per: 24 * time.Hour, Burst: 1})
	c := served(t, hour, byUser, grpclimit.FailClosed, grpclimit.Also(day))
	require.NoError(t, check(as(t, "ann"), c))
	err := check(as(t, "ann"), c)
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	retry, violated := details(t, err)
	assert.Equal(t, []string{day.Name()}, violated)
	assert.Greater(t, retry, 23*time.Hour)
	d, err := hour.For("ann").Peek(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 99, d.Remaining, "the refused one took nothing")
}

// A plan of 0 is a refusal, which no wait ends, and no outage.
func TestARateOfNothingRefuses(t *testing.T) {
	t.Parallel()
	client := open(t, redistest.Shared(t).Addr())
	none, some := limiter(t, client, ratelimiter.PerSecond(0)), limiter(t, client, ratelimiter.PerHour(1))
	for name, c := range map[string]healthpb.HealthClient{
		"alone":          served(t, none, byUser, grpclimit.FailOpen),
		"beside another": served(t, some, byUser, grpclimit.FailClosed, grpclimit.Also(none)),
		"before it":      served(t, none, byUser, grpclimit.FailClosed, grpclimit.Also(some)),
	} {
		for range 2 {
			err := check(as(t, "ann"), c)
			require.Equal(t, codes.ResourceExhausted, status.Code(err), "%s: %v", name, err)
			retry, _ := details(t, err)
			assert.Zero(t, retry, name)
		}
	}
	d, err := some.For("ann").Peek(t.Context())
	require.NoError(t, err)
	assert.True(t, d.Allowed)
}

// What is wrong with the limiter itself is no outage.
func TestNoMistakeFailsOpen(t *testing.T) {
	t.Parallel()
	client := open(t, redistest.Shared(t).Addr())
	hour := limiter(t, client, ratelimiter.PerHour(5))
	raw := redistest.Shared(t).Client(t)
	taken := redistest.Name(t)
	require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(taken).Value("another program's").Build()).Error())
	for name, l := range map[string]*ratelimiter.Limiter{
		"another rate":   client.RateLimiter(hour.Name(), ratelimiter.WithExpectedRate(ratelimiter.PerHour(6))),
		"another object": client.RateLimiter(taken),
		"an option":      client.RateLimiter(hour.Name(), ratelimiter.WithMaxDebt(-1)),
	} {
		err := check(as(t, "ann"), served(t, l, byUser, grpclimit.FailOpen))
		require.Equal(t, codes.Internal, status.Code(err), "%s: %v", name, err)
	}
}

func TestOneLimitInShadow(t *testing.T) {
	t.Parallel()
	client := open(t, redistest.Shared(t).Addr())
	live, beta := limiter(t, client, ratelimiter.PerHour(5)), limiter(t, client, ratelimiter.PerHour(3))
	c := served(t, live, byUser, grpclimit.FailClosed, grpclimit.AlsoShadow(beta))
	for range 5 {
		require.NoError(t, check(as(t, "ann"), c))
	}
	_, violated := details(t, check(as(t, "ann"), c))
	assert.Equal(t, []string{live.Name()}, violated)
	require.Eventually(t, func() bool {
		d, err := beta.For("ann").Peek(t.Context())
		return err == nil && d.Remaining == 0
	}, time.Minute, time.Millisecond)
	_, err := grpclimit.New(live, byUser, grpclimit.FailOpen, grpclimit.AlsoShadow(nil))
	require.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
}

func TestWhatACallCosts(t *testing.T) {
	t.Parallel()
	l := limiter(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(10))
	var method string
	for cost, want := range map[int64]codes.Code{0: codes.OK, 7: codes.OK, -1: codes.InvalidArgument, 11: codes.ResourceExhausted} {
		c := served(t, l, byUser, grpclimit.FailOpen, grpclimit.Cost(func(_ context.Context, called string) int64 {
			method = called
			return cost
		}))
		err := check(as(t, "ann"), c)
		require.Equal(t, want, status.Code(err), "%d: %v", cost, err)
		retry, _ := details(t, err)
		assert.Zero(t, retry, "no wait would help")
	}
	assert.Equal(t, "/grpc.health.v1.Health/Check", method)
	d, err := l.For("ann").Peek(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 3, d.Remaining)
}

func TestWhoseCall(t *testing.T) {
	t.Parallel()
	l := limiter(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(100))
	for name, of := range map[string]struct {
		key  httplimit.Key
		want string
	}{
		"the peer":               {httplimit.ByIP(), "127.0.0.1"},
		"behind a trusted proxy": {httplimit.ByIP(httplimit.TrustProxies("127.0.0.1")), "192.0.2.7"},
		"a secret":               {httplimit.ByHeader("Authorization"), "a6d30e5acc41b1369e4ddf761cde16ea"}, // printf %s "$it" | sha256sum | cut -c 1-32
	} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer sk_live_4eC39HqLyjWD", "x-forwarded-for", "6.6.6.6, 192.0.2.7")
		require.NoError(t, check(ctx, served(t, l, of.key, grpclimit.FailClosed)), name)
		d, err := l.For(of.want).Peek(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 99, d.Remaining, name)
	}
	err := check(t.Context(), served(t, l, byUser, grpclimit.FailOpen))
	assert.Equal(t, codes.InvalidArgument, status.Code(err), "nobody's: %v", err)
}

func TestWhatHappensWithoutADecision(t *testing.T) {
	t.Parallel()
	client := open(t, redistest.Shared(t).Addr())
	bare := client.RateLimiter(redistest.Name(t)) // without a rate
	var heard error
	own := func(_ context.Context, _ string, err error) error {
		heard = err
		return status.Error(codes.Aborted, "own")
	}
	for name, of := range map[string]struct {
		failure grpclimit.Failure
		want    codes.Code
	}{
		"open": {grpclimit.FailOpen, codes.OK}, "closed": {grpclimit.FailClosed, codes.Unavailable}, "own": {own, codes.Aborted},
	} {
		c := served(t, bare, byUser, of.failure)
		assert.Equal(t, of.want, status.Code(check(as(t, "secret"), c)), name)
		assert.Equal(t, of.want, status.Code(watch(as(t, "secret"), c)), name)
	}
	assert.ErrorIs(t, heard, ratelimiter.ErrNoRate)
	assert.NotContains(t, heard.Error(), "secret")

	misused := client.RateLimiter(redistest.Name(t), ratelimiter.WithMaxDebt(-1))
	assert.Equal(t, codes.Internal, status.Code(check(as(t, "ann"), served(t, misused, byUser, grpclimit.FailOpen))))
	assert.Equal(t, codes.Internal, status.Code(check(as(t, "ann"), served(t, bare, httplimit.Key{}, grpclimit.FailOpen))))
}

func TestAServerThatIsGone(t *testing.T) {
	t.Parallel()
	p := redistest.NewProxy(t, redistest.Shared(t).Addr())
	client := open(t, p.Addr())
	l := limiter(t, client, ratelimiter.PerHour(10))
	closed := client.RateLimiter(l.Name(), ratelimiter.WithFallback(30*time.Second, ratelimiter.Closed))
	silent := served(t, l, byUser, grpclimit.FailClosed, grpclimit.Timeout(20*time.Millisecond))
	fallback := served(t, closed, byUser, grpclimit.FailOpen)
	require.NoError(t, check(as(t, "ann"), fallback))
	p.BlackHole()
	err := check(as(t, "ann"), silent)
	assert.Equal(t, codes.Unavailable, status.Code(err), err)
	retry, _ := details(t, err)
	assert.Equal(t, time.Second, retry)
	p.Restore()
	p.Refuse()
	p.CutAll()
	err = check(as(t, "ann"), fallback)
	assert.Equal(t, codes.Unavailable, status.Code(err), "the fallback refuses: %v", err)
}

// A client that hangs up before the decision is told so, and not of an outage.
func TestAClientThatGoesAway(t *testing.T) {
	t.Parallel()
	p := redistest.NewProxy(t, redistest.Shared(t).Addr())
	client := open(t, p.Addr())
	l := limiter(t, client, ratelimiter.PerHour(10))
	failed := make(chan error, 1)
	limit, err := grpclimit.New(l, byUser, func(_ context.Context, _ string, err error) error {
		failed <- err
		return nil
	}, patient)
	require.NoError(t, err)
	p.BlackHole()
	ctx, cancel := context.WithCancel(metadata.NewIncomingContext(t.Context(), metadata.Pairs("user", "ann")))
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err = limit.Unary(ctx, nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) {
		t.Error("it was passed on")
		return nil, nil
	})
	assert.Equal(t, codes.Canceled, status.Code(err), err)
	assert.Empty(t, failed)
}

func TestOptionsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	l := open(t, redistest.Shared(t).Addr()).RateLimiter(redistest.Name(t))
	for name, of := range map[string]struct {
		l       *ratelimiter.Limiter
		failure grpclimit.Failure
		opt     grpclimit.Option
	}{
		"no limiter": {nil, grpclimit.FailOpen, patient}, "no failure": {l, nil, patient}, "a nil option": {l, grpclimit.FailOpen, nil},
		"a nil limit more": {l, grpclimit.FailOpen, grpclimit.Also(nil)}, "a cost of nil": {l, grpclimit.FailOpen, grpclimit.Cost(nil)},
		"no time": {l, grpclimit.FailOpen, grpclimit.Timeout(0)}, "a rule of nil": {l, grpclimit.FailOpen, grpclimit.Rule(nil)},
		"a shadow without an observer": {l, grpclimit.FailOpen, grpclimit.Shadow()}, "an observer of nil": {l, grpclimit.FailOpen, grpclimit.Observe(nil)},
		"too many names": {l, grpclimit.FailOpen, grpclimit.PolicyNames("a", "b")}, "an empty name": {l, grpclimit.FailOpen, grpclimit.PolicyNames("")},
		"no format": {l, grpclimit.FailOpen, grpclimit.Headers(7)}, "a jitter back": {l, grpclimit.FailOpen, grpclimit.WithRetryJitter(-1)},
		"an empty key": {l, grpclimit.FailOpen, grpclimit.SharedKey("")}, "no logger": {l, grpclimit.FailOpen, grpclimit.Logger(nil)},
		"messages of nil": {l, grpclimit.FailOpen, grpclimit.Messages(nil)}, "a refund of nil": {l, grpclimit.FailOpen, grpclimit.RefundIf(nil)},
	} {
		_, err := grpclimit.New(of.l, byUser, of.failure, of.opt)
		assert.ErrorIs(t, err, ratelimiter.ErrInvalidArgument, name)
		assert.True(t, err != nil && strings.HasPrefix(err.Error(), "grpclimit: "), name)
	}
}
