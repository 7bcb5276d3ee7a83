package grpclimit_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/grpclimit"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
)

// echo is a service with a call and a stream whose handlers are of the test.
type echo struct {
	call   func(ctx context.Context, req *healthpb.HealthCheckRequest) error
	stream func(s grpc.ServerStream) error
}

// serve returns a connection to a server of the service, behind the limit.
func (e echo) serve(t testing.TB, l *ratelimiter.Limiter, f grpclimit.Failure, opts ...grpclimit.Option) *grpc.ClientConn {
	t.Helper()
	limit, err := grpclimit.New(l, byUser, f, append([]grpclimit.Option{patient}, opts...)...)
	require.NoError(t, err)
	rescue := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = status.Error(codes.DataLoss, "rescued")
			}
		}()
		return handler(ctx, req)
	}
	s := grpc.NewServer(grpc.ChainUnaryInterceptor(rescue, limit.Unary), grpc.StreamInterceptor(limit.Stream))
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "echo", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Call", Handler: func(_ any, ctx context.Context, read func(any) error, around grpc.UnaryServerInterceptor) (any, error) {
			req := new(healthpb.HealthCheckRequest)
			if err := read(req); err != nil {
				return nil, err
			}
			return around(ctx, req, &grpc.UnaryServerInfo{FullMethod: "/echo/Call"}, func(ctx context.Context, req any) (any, error) {
				return new(healthpb.HealthCheckResponse), e.call(ctx, req.(*healthpb.HealthCheckRequest))
			})
		}}},
		Streams: []grpc.StreamDesc{{StreamName: "Stream", ServerStreams: true, ClientStreams: true, Handler: func(_ any, s grpc.ServerStream) error { return e.stream(s) }}},
	}, e)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Serve(listener) }() // ends with Stop
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, conn.Close())
		s.Stop()
		assert.NoError(t, <-done)
	})
	return conn
}

func call(ctx context.Context, conn *grpc.ClientConn, service string, opts ...grpc.CallOption) error {
	return conn.Invoke(ctx, "/echo/Call", &healthpb.HealthCheckRequest{Service: service}, new(healthpb.HealthCheckResponse), opts...)
}

// left is how many tokens a key has.
func left(t testing.TB, l *ratelimiter.Limiter, key string) int64 {
	t.Helper()
	d, err := l.For(key).Peek(t.Context())
	require.NoError(t, err)
	return d.Remaining
}

// heard are the reports of an observer.
type heard struct {
	mu  sync.Mutex
	all []httplimit.Report
}

func (h *heard) observe(_ context.Context, _ string, what httplimit.Report) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, what)
}

func (h *heard) outcomes() (all []httplimit.Outcome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.all {
		all = append(all, r.Outcome)
	}
	return all
}

func TestAKeyWithARateOfItsOwn(t *testing.T) {
	t.Parallel()
	l := limiter(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(1))
	c := served(t, l, byUser, grpclimit.FailClosed, grpclimit.Rule(func(ctx context.Context, method string, one *ratelimiter.Limiter) (ratelimiter.Rate, bool) {
		md, _ := metadata.FromIncomingContext(ctx)
		return ratelimiter.PerHour(3), method == healthpb.Health_Check_FullMethodName && one == l && md.Get("user")[0] == "gold"
	}))
	for user, want := range map[string]int{"ann": 1, "gold": 3} {
		n := 0
		for check(as(t, user), c) == nil {
			n++
		}
		assert.Equal(t, want, n, user)
	}
}

func TestWhatIsRefunded(t *testing.T) {
	t.Parallel()
	client := open(t, redistest.Shared(t).Addr())
	service := echo{call: func(_ context.Context, req *healthpb.HealthCheckRequest) error {
		switch req.Service {
		case "panics":
			panic("as asked")
		case "fails":
			return status.Error(codes.NotFound, "as asked")
		}
		return nil
	}, stream: func(grpc.ServerStream) error { return errors.New("as asked") }}
	for name, of := range map[string]struct {
		predicate              func(grpclimit.Response) bool
		works, fails, panicked int64 // tokens that are left of 10
	}{
		"failures count": {grpclimit.Succeeded, 10, 9, 9}, "successes count": {grpclimit.Failed, 9, 10, 10},
	} {
		l, h := limiter(t, client, ratelimiter.PerHour(10)), new(heard)
		conn := service.serve(t, l, grpclimit.FailClosed, grpclimit.RefundIf(of.predicate), grpclimit.Observe(h.observe))
		require.NoError(t, call(as(t, "works"), conn, "works"))
		require.Equal(t, codes.NotFound, status.Code(call(as(t, "fails"), conn, "fails")))
		require.Equal(t, codes.DataLoss, status.Code(call(as(t, "panics"), conn, "panics")))
		assert.Equal(t, []int64{of.works, of.fails, of.panicked}, []int64{left(t, l, "works"), left(t, l, "fails"), left(t, l, "panics")}, name)
		s, err := conn.NewStream(as(t, "stream"), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/echo/Stream")
		require.NoError(t, err)
		require.Equal(t, codes.Unknown, status.Code(s.RecvMsg(new(healthpb.HealthCheckResponse))))
		assert.Equal(t, of.fails, left(t, l, "stream"), name)
		assert.Contains(t, h.outcomes(), httplimit.Refunded)
	}
}

func TestWhatIsChargedAfterwards(t *testing.T) {
	t.Parallel()
	l, h := limiter(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(10), ratelimiter.WithMaxDebt(10)), new(heard)
	service := echo{call: func(ctx context.Context, _ *healthpb.HealthCheckRequest) error {
		return errors.Join(grpclimit.Charge(ctx, 4), grpclimit.Charge(ctx, 12))
	}, stream: func(s grpc.ServerStream) error { return grpclimit.Charge(s.Context(), 3) }}
	conn := service.serve(t, l, grpclimit.FailClosed, grpclimit.Observe(h.observe))
	require.NoError(t, call(as(t, "ann"), conn, ""))
	require.Equal(t, codes.ResourceExhausted, status.Code(call(as(t, "ann"), conn, "")), "there is a debt of 2")
	assert.Equal(t, []httplimit.Outcome{httplimit.Allowed, httplimit.Charged, httplimit.Charged, httplimit.Refused}, h.outcomes())
	s, err := conn.NewStream(as(t, "bob"), &grpc.StreamDesc{ServerStreams: true}, "/echo/Stream")
	require.NoError(t, err)
	require.ErrorIs(t, s.RecvMsg(new(healthpb.HealthCheckResponse)), io.EOF)
	assert.EqualValues(t, 7, left(t, l, "bob"))
	require.ErrorIs(t, grpclimit.Charge(t.Context(), 1), grpclimit.ErrNoDecision)
	var none context.Context
	require.ErrorIs(t, grpclimit.Charge(none, 1), ratelimiter.ErrInvalidArgument)
}

// TestAChargeAfterARefund charges the whole: nothing was paid any more.
func TestAChargeAfterARefund(t *testing.T) {
	t.Parallel()
	l := limiter(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(10))
	kept := make(chan context.Context, 1)
	service := echo{call: func(ctx context.Context, _ *healthpb.HealthCheckRequest) error {
		kept <- ctx
		return nil
	}}
	conn := service.serve(t, l, grpclimit.FailClosed, grpclimit.RefundIf(grpclimit.Succeeded),
		grpclimit.Cost(func(context.Context, string) int64 { return 5 }))
	require.NoError(t, call(as(t, "ann"), conn, ""))
	require.EqualValues(t, 10, left(t, l, "ann"))
	require.NoError(t, grpclimit.Charge(<-kept, 8))
	require.EqualValues(t, 2, left(t, l, "ann"))
}

func TestMessagesOfAStreamCount(t *testing.T) {
	t.Parallel()
	l := limiter(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(7))
	service := echo{stream: func(s grpc.ServerStream) error {
		for {
			m := new(healthpb.HealthCheckRequest)
			if err := s.RecvMsg(m); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			if err := s.SendMsg(new(healthpb.HealthCheckResponse)); err != nil {
				return err
			}
		}
	}}
	h := new(heard)
	conn := service.serve(t, l, grpclimit.FailClosed, grpclimit.Observe(h.observe), grpclimit.Messages(func(_ context.Context, method string, m any) int64 {
		assert.Equal(t, "/echo/Stream", method)
		return int64(len(m.(*healthpb.HealthCheckRequest).Service))
	}))
	s, err := conn.NewStream(as(t, "ann"), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/echo/Stream")
	require.NoError(t, err)
	for _, text := range []string{"", "aa", "bbbb", ""} { // of 7 the stream has taken 1
		require.NoError(t, s.SendMsg(&healthpb.HealthCheckRequest{Service: text}))
		require.NoError(t, s.RecvMsg(new(healthpb.HealthCheckResponse)), text)
	}
	require.NoError(t, s.SendMsg(&healthpb.HealthCheckRequest{Service: "c"}))
	err = s.RecvMsg(new(healthpb.HealthCheckResponse))
	require.Equal(t, codes.ResourceExhausted, status.Code(err), err)
	_, violated := details(t, err)
	assert.Equal(t, []string{l.Name()}, violated)
	assert.Equal(t, []httplimit.Outcome{httplimit.Allowed, httplimit.Allowed, httplimit.Allowed, httplimit.Refused}, h.outcomes())
}

func TestTheHeaderTellsTheQuota(t *testing.T) {
	t.Parallel()
	l := limiter(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(2))
	service := echo{call: func(context.Context, *healthpb.HealthCheckRequest) error { return nil }}
	conn := service.serve(t, l, grpclimit.FailClosed, grpclimit.Headers(httplimit.Draft11), grpclimit.PolicyNames("calls"))
	var got metadata.MD
	require.NoError(t, call(as(t, "ann"), conn, "", grpc.Header(&got)))
	assert.Equal(t, []string{`"calls";q=2;w=3600`}, got.Get("ratelimit-policy"))
	assert.Equal(t, []string{`"calls";r=1;t=1800`}, got.Get("ratelimit"))
	require.NoError(t, call(as(t, "ann"), conn, ""))
	err := call(as(t, "ann"), conn, "", grpc.Header(&got))
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	assert.Regexp(t, `^"calls";r=0;t=(1800|1799)$`, got.Get("ratelimit")[0], "the header of a refusal")
	_, violated := details(t, err)
	assert.Equal(t, []string{"calls"}, violated)
}

func TestCallsWithoutAKeyShareOne(t *testing.T) {
	t.Parallel()
	l := limiter(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(1))
	c := served(t, l, byUser, grpclimit.FailClosed, grpclimit.SharedKey("nobody"))
	require.NoError(t, check(t.Context(), c))
	require.Equal(t, codes.ResourceExhausted, status.Code(check(t.Context(), c)))
	require.EqualValues(t, 0, left(t, l, "nobody"))
}

func TestShadowRefusesNothing(t *testing.T) {
	t.Parallel()
	l, h := limiter(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(1)), new(heard)
	c := served(t, l, byUser, grpclimit.FailClosed, grpclimit.Shadow(), grpclimit.Observe(h.observe))
	require.NoError(t, check(as(t, "ann"), c))
	require.NoError(t, check(as(t, "ann"), c))
	require.NoError(t, check(t.Context(), c), "without a key")
	assert.Equal(t, []httplimit.Outcome{httplimit.Allowed, httplimit.Refused, httplimit.NoKey}, h.outcomes())
}

func TestRefusalsComeBackApart(t *testing.T) {
	t.Parallel()
	l := limiter(t, open(t, redistest.Shared(t).Addr()), ratelimiter.PerHour(1))
	c := served(t, l, byUser, grpclimit.FailClosed, grpclimit.WithRetryJitter(100*time.Hour))
	require.NoError(t, check(as(t, "ann"), c))
	different := make(map[time.Duration]bool)
	for range 5 {
		retry, _ := details(t, check(as(t, "ann"), c))
		require.Greater(t, retry, 59*time.Minute)
		require.LessOrEqual(t, retry, 101*time.Hour)
		different[retry.Truncate(time.Minute)] = true
	}
	require.Greater(t, len(different), 1)
}

// TestTheLogNamesNoKey, and has one line a second of a limiter that fails.
func TestTheLogNamesNoKey(t *testing.T) {
	t.Parallel()
	bare := open(t, redistest.Shared(t).Addr()).RateLimiter(redistest.Name(t)) // without a rate
	var lines bytes.Buffer
	c := served(t, bare, byUser, grpclimit.FailOpen, grpclimit.Logger(slog.New(slog.NewTextHandler(&lines, nil))))
	for range 3 {
		require.NoError(t, check(as(t, "secret"), c))
	}
	assert.Contains(t, lines.String(), "rate limiter failed")
	assert.Contains(t, lines.String(), healthpb.Health_Check_FullMethodName)
	assert.NotContains(t, lines.String(), "secret")
}
