package rueidisson_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// connect are the ways to a client of the server at addr.
var connect = map[string]func(t testing.TB, addr string, opts ...rueidisson.Option) (*rueidisson.Client, error){
	"New": func(_ testing.TB, addr string, opts ...rueidisson.Option) (*rueidisson.Client, error) {
		return rueidisson.New(rueidis.ClientOption{InitAddress: []string{addr}}, opts...)
	},
	"Open": func(_ testing.TB, addr string, opts ...rueidisson.Option) (*rueidisson.Client, error) {
		return rueidisson.Open("redis://"+addr, opts...)
	},
	"Wrap": func(t testing.TB, addr string, opts ...rueidisson.Option) (*rueidisson.Client, error) {
		t.Helper()
		inner, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableRetry: true})
		if err != nil {
			return nil, err
		}
		t.Cleanup(inner.Close)
		return rueidisson.Wrap(inner, opts...)
	},
}

// shut closes a client that holds nothing.
func shut(t testing.TB, c *rueidisson.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	require.NoError(t, c.Close(ctx))
}

// worksAs locks and unlocks, and shows that the key stands in the database.
func worksAs(t testing.TB, c *rueidisson.Client, database rueidis.Client, key, name string) {
	t.Helper()
	hold, err := c.Lock(name).Lock(t.Context())
	require.NoError(t, err)
	there, err := database.Do(t.Context(), database.B().Exists().Key(key).Build()).AsInt64()
	require.NoError(t, err)
	require.EqualValues(t, 1, there)
	require.NoError(t, hold.Unlock(t.Context()))
}

func TestEveryConstructorConnects(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for name, constructor := range connect {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := constructor(t, server.Addr())
			require.NoError(t, err)
			key := redistest.Name(t)
			worksAs(t, c, server.Client(t), key, key)
			shut(t, c)
		})
	}
}

// Addresses at which no server listens, and none will: others may be given a
// port that was free a moment ago.
const (
	nobody     = "127.0.0.1:1"
	nobodyElse = "127.0.0.1:2"
)

func TestADeadServerIsNamed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"New", "Open"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := connect[name](t, nobody)
			require.ErrorContains(t, err, nobody)
			require.ErrorContains(t, err, "refused")
			require.NotErrorIs(t, err, rueidisson.ErrInvalidArgument)
		})
	}
}

func TestEveryAddressOfADeadClusterIsNamed(t *testing.T) {
	t.Parallel()
	_, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{nobody, nobodyElse}})
	require.ErrorContains(t, err, nobody)
	require.ErrorContains(t, err, nobodyElse)
}

// A silent server is the worse dead one: it accepts, and says nothing.
func TestASilentServerIsGivenUpWithinTheDialTimeout(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]map[string]string{
		"from the start":          {"": silence},
		"when asked for INFO":     {"INFO": silence},
		"when asked for a script": {"INFO": bulk("redis_version:7.0.0\r\n"), "EVAL": silence},
	} {
		for mode, single := range map[string]bool{"single": true, "any": false} {
			t.Run(name+", "+mode, func(t *testing.T) {
				t.Parallel()
				addr := fakeServer(t, answers)
				redistest.Within(t, 4*time.Second, func() time.Duration { // rueidis' own timeouts are 5 s and more
					began := time.Now()
					_, err := rueidisson.New(rueidis.ClientOption{
						InitAddress: []string{addr}, ForceSingleClient: single, DisableCache: true, AlwaysRESP2: true,
						Dialer: net.Dialer{Timeout: 200 * time.Millisecond},
					})
					took := time.Since(began)
					require.ErrorContains(t, err, addr)
					require.NotContains(t, err.Error(), "does not run scripts", "nobody has said that")
					return took
				})
			})
		}
	}
}

func TestATooOldServerIsRefused(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct{ info, says string }{
		"Redis 6":        {"# Server\r\nredis_version:6.2.14\r\nredis_mode:standalone\r\n", "Redis 6.2.14"},
		"Redis 2.8":      {"redis_version:2.8.9\r\n", "Redis 2.8.9"},
		"Valkey 7.1":     {"redis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:7.1.9\r\n", "Valkey 7.1.9"},
		"a fork of that": {"valkey_version:6.9.0\r\nredis_version:7.2.4\r\n", "Valkey 6.9.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := fakeServer(t, map[string]string{"INFO": bulk(of.info)})
			_, err := newFake(addr)
			for _, words := range []string{addr, of.says, "Redis 7.0", "Valkey 7.2"} {
				require.ErrorContains(t, err, words)
			}
		})
	}
}

func TestAServerThatIsNewEnoughIsTaken(t *testing.T) {
	t.Parallel()
	for name, info := range map[string]string{
		"Redis 7.0":          bulk("redis_version:7.0.0\r\n"),
		"Redis 8":            bulk("redis_version:8.0.3\r\n"),
		"Redis 10":           bulk("redis_version:10.0.0\r\n"),
		"Valkey 7.2":         bulk("redis_version:7.2.4\r\nvalkey_version:7.2.5\r\n"),
		"INFO is denied":     "-NOPERM this user has no permissions to run the 'info' command\r\n",
		"an unknown version": bulk("redis_version:unstable\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := newFake(fakeServer(t, map[string]string{"INFO": info, "EVAL": ":1\r\n"}))
			require.NoError(t, err)
			shut(t, c)
		})
	}
}

func newFake(addr string) (*rueidisson.Client, error) {
	return rueidisson.New(rueidis.ClientOption{
		InitAddress: []string{addr}, ForceSingleClient: true, DisableCache: true, AlwaysRESP2: true,
	})
}

func TestAServerWithoutScriptingIsRefused(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func(t *testing.T) *redistest.Server{
		"denied by an ACL": func(t *testing.T) *redistest.Server {
			s := redistest.Start(t)
			admin := s.Client(t)
			require.NoError(t, admin.Do(t.Context(),
				admin.B().AclSetuser().Username("default").Rule("-@scripting").Build()).Error())
			return s
		},
		"renamed away": func(t *testing.T) *redistest.Server {
			return redistest.Start(t, redistest.Config("rename-command", "EVAL", ""))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := server(t).Addr()
			for name, constructor := range connect {
				_, err := constructor(t, addr)
				require.ErrorContains(t, err, "scripts (EVAL)", name)
				if name != "Wrap" { // that was not told an address
					require.ErrorContains(t, err, addr, name)
				}
				_, replied := rueidis.IsRedisErr(err)
				require.Falsef(t, replied, "it is wrapped: %v", err)
				require.ErrorAs(t, err, new(*rueidis.RedisError), name)
			}
		})
	}
}

func TestAServerThatHidesItsClockFromScriptsIsRefused(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	admin := s.Client(t)
	require.NoError(t, admin.Do(t.Context(), admin.B().AclSetuser().Username("default").Rule("-time").Build()).Error())
	for name, constructor := range connect {
		_, err := constructor(t, s.Addr())
		require.ErrorContains(t, err, "refuses TIME to scripts", name)
	}
}

func TestAServerThatIsRefusedByWrapLeavesTheClientOpen(t *testing.T) {
	t.Parallel()
	inner, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:       []string{fakeServer(t, map[string]string{"INFO": bulk("redis_version:6.0.0\r\n")})},
		ForceSingleClient: true, DisableCache: true, AlwaysRESP2: true,
	})
	require.NoError(t, err)
	defer inner.Close()
	_, err = rueidisson.Wrap(inner)
	require.ErrorContains(t, err, "Redis 6.0.0")
	require.NoError(t, inner.Do(t.Context(), inner.B().Ping().Build()).Error())
}

func TestOpenTakesTheFormsOfAURL(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	require.NoError(t, admin.Do(t.Context(), admin.B().AclSetuser().Username("shop").
		Rule("on", ">secret", "~*", "&*", "+@all").Build()).Error())
	for name, of := range map[string]struct {
		url      string
		database int
	}{
		"an address":         {"redis://" + server.Addr(), 0},
		"no scheme":          {server.Addr(), 0},
		"no scheme, a user":  {"shop:secret@" + server.Addr() + "/6", 6},
		"valkey":             {"valkey://" + server.Addr(), 0},
		"a database":         {"redis://" + server.Addr() + "/3", 3},
		"a database by name": {"redis://" + server.Addr() + "?db=4", 4},
		"a user":             {"redis://shop:secret@" + server.Addr() + "/5", 5},
		"a dial timeout":     {"redis://" + server.Addr() + "?dial_timeout=3s&protocol=2&client_cache=0", 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := rueidisson.Open(of.url)
			require.NoError(t, err)
			key := redistest.Name(t)
			worksAs(t, c, server.Client(t, func(o *rueidis.ClientOption) { o.SelectDB = of.database }), key, key)
			shut(t, c)
		})
	}
	_, err := rueidisson.Open("redis://shop:wrong@" + server.Addr())
	require.ErrorContains(t, err, "WRONGPASS")
	require.ErrorContains(t, err, server.Addr())
	require.NotContains(t, err.Error(), "wrong@")
}

func TestOpenRefusesABadURL(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "127.0.0.1:6379/x", "http://127.0.0.1:6379", "redis://127.0.0.1:6379/x", "redis://127.0.0.1/1/2", "redis://%zz", "redis://127.0.0.1?dial_timeout=x"} {
		_, err := rueidisson.Open(url)
		require.ErrorIs(t, err, rueidisson.ErrInvalidArgument, "%q", url)
		require.ErrorContains(t, err, "url", "%q", url)
	}
}

func TestWrapRefusesNil(t *testing.T) {
	t.Parallel()
	_, err := rueidisson.Wrap(nil)
	require.ErrorIs(t, err, rueidisson.ErrInvalidArgument)
	require.ErrorContains(t, err, "nil client")
	_, err = rueidisson.Wrap((*nilClient)(nil))
	require.ErrorIs(t, err, rueidisson.ErrInvalidArgument)
}

type nilClient struct{ rueidis.Client }

func TestNewRefusesNoAddress(t *testing.T) {
	t.Parallel()
	_, err := rueidisson.New(rueidis.ClientOption{})
	require.ErrorIs(t, err, rueidisson.ErrInvalidArgument)
	require.ErrorContains(t, err, "InitAddress")
}

// badOptions are what no constructor takes, and what the error has to say.
var badOptions = map[string]struct {
	option rueidisson.Option
	says   string
}{
	"a watchdog timeout below 100 ms":    {rueidisson.WithWatchdogTimeout(100*time.Millisecond - 1), "watchdog timeout 99.999999ms"},
	"no watchdog timeout":                {rueidisson.WithWatchdogTimeout(0), "watchdog timeout 0s"},
	"a watchdog timeout beyond clocks":   {rueidisson.WithWatchdogTimeout(math.MaxInt64), "watchdog timeout"},
	"a negative number of hand-overs":    {rueidisson.WithHandover(-1, time.Second), "handover -1"},
	"a negative time of hand-overs":      {rueidisson.WithHandover(1, -time.Second), "handover 1, -1s"},
	"more hand-overs than are fair":      {rueidisson.WithHandover(100_001, time.Millisecond), "handover 100001, 1ms is above 100000, 100ms"},
	"hand-overs for longer than is fair": {rueidisson.WithHandover(1, 100*time.Millisecond+1), "handover 1, 100.000001ms is above"},
	"a client id that is no uuid":        {rueidisson.WithClientID("me"), `client id`},
	"a client id in upper case":          {rueidisson.WithClientID("6F5C2AE5-5A3C-4D6E-9D36-0A4A0B2D8F11"), "client id"},
	"an empty client id":                 {rueidisson.WithClientID(""), "client id"},
	"a nil name mapper":                  {rueidisson.WithNameMapper(nil), "name mapper"},
	"a nil logger":                       {rueidisson.WithLogger(nil), "logger"},
	"a nil observer":                     {rueidisson.WithObserver(nil), "observer"},
	"a sharding that there is not":       {rueidisson.WithShardedPubSub(rueidisson.Off + 1), "sharding 3"},
	"a negative sharding":                {rueidisson.WithShardedPubSub(-1), "sharding -1"},
	"no replica to acknowledge":          {rueidisson.WithReplicaAcks(0, time.Second), "replica acks 0"},
	"no time for replicas":               {rueidisson.WithReplicaAcks(1, 0), "replica acks 1 within 0s"},
	"less than a millisecond for those":  {rueidisson.WithReplicaAcks(1, time.Millisecond-1), "replica acks 1"},
	"a nil option":                       {nil, "nil option"},
	"no codec":                           {rueidisson.WithCodec(codec.Family{}), "codec"},
	"no values":                          {rueidisson.WithMaxValue(0), "at most 0 bytes"},
}

func TestBadOptionsAreRefusedByEveryConstructor(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	inner := rueidisClient(t, proxy.Addr())
	proxy.ResetLog()
	for name, bad := range badOptions {
		t.Run(name, func(t *testing.T) {
			_, err := rueidisson.New(rueidis.ClientOption{InitAddress: []string{proxy.Addr()}}, rueidisson.WithHandover(1, 1), bad.option)
			requireRefused(t, err, bad.says)
			_, err = rueidisson.Open("redis://"+proxy.Addr(), bad.option)
			requireRefused(t, err, bad.says)
			_, err = rueidisson.Wrap(inner, bad.option)
			requireRefused(t, err, bad.says)
		})
	}
	require.Zero(t, proxy.Count(redistest.Command("HELLO", "INFO", "EVAL", "CLUSTER")), "nobody was asked")
}

func requireRefused(t testing.TB, err error, says string) {
	t.Helper()
	require.ErrorIs(t, err, rueidisson.ErrInvalidArgument)
	require.ErrorContains(t, err, says)
}

func rueidisClient(t testing.TB, addr string) rueidis.Client {
	t.Helper()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, ForceSingleClient: true, DisableCache: true})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestAClientHasAnIDOfItsOwn(t *testing.T) {
	t.Parallel()
	inner := rueidisClient(t, redistest.Shared(t).Addr())
	ids := map[string]bool{}
	for range 3 {
		c, err := rueidisson.Wrap(inner)
		require.NoError(t, err)
		ids[c.ID()] = true
		shut(t, c)
	}
	require.Len(t, ids, 3)

	const id = "6f5c2ae5-5a3c-4d6e-9d36-0a4a0b2d8f11"
	c, err := rueidisson.Wrap(inner, rueidisson.WithClientID(id))
	require.NoError(t, err)
	defer shut(t, c)
	require.Equal(t, id, c.ID())
	hold, err := c.Lock(redistest.Name(t)).Lock(t.Context())
	require.NoError(t, err)
	holder, err := c.Lock(redistest.Name(t)).Holder(t.Context())
	require.NoError(t, err)
	require.False(t, holder.Held(), "of another name")
	require.NoError(t, hold.Unlock(t.Context()))
}

func TestAClientShowsItsSettings(t *testing.T) {
	t.Parallel()
	c, err := rueidisson.Wrap(rueidisClient(t, redistest.Shared(t).Addr()),
		rueidisson.WithWatchdogTimeout(7*time.Second), rueidisson.WithReplicaAcks(2, time.Second),
		rueidisson.WithHandover(100_000, 100*time.Millisecond)) // and no more than that
	require.NoError(t, err)
	defer shut(t, c)
	for _, setting := range []string{c.ID(), "watchdog 7s", "handover 100000 or 100ms", "replica acks 2", `"publish"`} {
		require.Contains(t, c.String(), setting)
	}
}

func TestNamesAreMappedOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	key := redistest.Name(t)
	c, err := rueidisson.Wrap(rueidisClient(t, server.Addr()), rueidisson.WithNameMapper(func(name string) string { return "{app}" + name }))
	require.NoError(t, err)
	defer shut(t, c)
	require.Equal(t, key, c.Lock(key).Name())
	worksAs(t, c, server.Client(t), "{app}"+key, key)
}

func TestCloseRefusesANilContext(t *testing.T) {
	t.Parallel()
	c, err := rueidisson.Wrap(rueidisClient(t, redistest.Shared(t).Addr()))
	require.NoError(t, err)
	//lint:ignore SA1012 nil is what is tested
	require.ErrorIs(t, c.Close(nil), rueidisson.ErrInvalidArgument)
	locked, err := c.Lock(redistest.Name(t)).Locked(t.Context())
	require.NoError(t, err, "it was not closed by that")
	require.False(t, locked)
	shut(t, c)
}

// silence is no answer.
const silence = ""

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

// fakeServer speaks as much of the protocol as a client needs to start: it says
// OK to everything but the commands that it has an answer for ("": to all).
// CLUSTER is answered as by a server that is none.
func fakeServer(t testing.TB, answers map[string]string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var conns sync.WaitGroup
	conns.Go(func() { // ended by the listener's end
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { serveFake(conn, answers) }) // ended by the client's end
		}
	})
	t.Cleanup(func() {
		l.Close()
		conns.Wait()
	})
	return l.Addr().String()
}

func serveFake(conn net.Conn, answers map[string]string) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		command, err := readCommand(in)
		if err != nil {
			return
		}
		answer := "+OK\r\n"
		if command == "CLUSTER" {
			answer = "-ERR This instance has cluster support disabled\r\n"
		}
		if all, ok := answers[""]; ok {
			answer = all
		}
		if own, ok := answers[command]; ok {
			answer = own
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}

// readCommand reads one request and returns its name.
func readCommand(in *bufio.Reader) (name string, err error) {
	n, err := readCount(in, '*')
	for i := 0; i < n && err == nil; i++ {
		var size int
		if size, err = readCount(in, '$'); err != nil {
			break
		}
		word := make([]byte, size+2)
		if _, err = io.ReadFull(in, word); err == nil && i == 0 {
			name = strings.ToUpper(string(word[:size]))
		}
	}
	return name, err
}

func readCount(in *bufio.Reader, kind byte) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("not a request: %q", line)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

// TestAnErrorOfAURLShowsNoPassword, also where a character of the password makes the URL another one.
func TestAnErrorOfAURLShowsNoPassword(t *testing.T) {
	t.Parallel()
	for _, password := range []string{"sec/ret", "12/sec", "sec#ret", "sec?ret", "sec%zzret"} {
		_, err := rueidisson.Open("redis://:" + password + "@127.0.0.1:1/0")
		require.Error(t, err)
		require.NotContains(t, err.Error(), "sec", password)
	}
}
