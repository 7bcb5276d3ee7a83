package httplimit

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/ratelimiter"
)

func from(remote string, header string, lines ...string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.RemoteAddr = remote
	r.Header[header] = lines
	return r
}

const xff = "X-Forwarded-For"

func TestWhoseAddress(t *testing.T) {
	t.Parallel()
	behind := TrustProxies("10.0.0.0/8", "2001:db8:ffff::1")
	for _, c := range []struct {
		name string
		r    *http.Request
		opts []IPOption
		want string // "" for none
	}{
		{"the connection", from("192.0.2.1:1234", xff), nil, "192.0.2.1"},
		{"a client that pretends to come from a proxy", from("192.0.2.1:1234", xff, "6.6.6.6"), nil, "192.0.2.1"},
		{"a client that pretends, past the proxies that are trusted", from("192.0.2.1:1234", xff, "6.6.6.6"), []IPOption{behind}, "192.0.2.1"},
		{"a proxy", from("10.1.2.3:80", xff, "192.0.2.1"), []IPOption{behind}, "192.0.2.1"},
		{"a proxy that adds to what the client wrote", from("10.1.2.3:80", xff, "6.6.6.6, 192.0.2.1"), []IPOption{behind}, "192.0.2.1"},
		{"a client that names a trusted proxy", from("10.1.2.3:80", xff, "6.6.6.6, 10.0.0.9, 192.0.2.1"), []IPOption{behind}, "192.0.2.1"},
		{"a chain of proxies", from("10.1.2.3:80", xff, "6.6.6.6, 192.0.2.1, 10.0.0.8, 10.0.0.9"), []IPOption{behind}, "192.0.2.1"},
		{"a chain with one that nobody named", from("10.1.2.3:80", xff, "192.0.2.1, 198.51.100.7, 10.0.0.9"), []IPOption{behind}, "198.51.100.7"},
		{"lines in the order in which they were added", from("10.1.2.3:80", xff, "6.6.6.6", "192.0.2.1", "10.0.0.9"), []IPOption{behind}, "192.0.2.1"},
		{"proxies alone", from("10.1.2.3:80", xff, "10.0.0.8, 10.0.0.9"), []IPOption{behind}, "10.0.0.8"},
		{"a proxy's own request", from("10.1.2.3:80", xff), []IPOption{behind}, "10.1.2.3"},
		{"garbage by the client is not reached", from("10.1.2.3:80", xff, `unknown, "<script>, 192.0.2.1`), []IPOption{behind}, "192.0.2.1"},
		{"garbage by the proxy", from("10.1.2.3:80", xff, "192.0.2.1, unknown"), []IPOption{behind}, ""},
		{"empty elements", from("10.1.2.3:80", xff, " , 192.0.2.1 ,, "), []IPOption{behind}, "192.0.2.1"},
		{"a port", from("10.1.2.3:80", xff, "192.0.2.1:5555"), []IPOption{behind}, "192.0.2.1"},
		{"a port that is none", from("10.1.2.3:80", xff, "192.0.2.1:99999"), []IPOption{behind}, ""},
		{"leading zeros, which some read as octal", from("10.1.2.3:80", xff, "192.000.002.001"), []IPOption{behind}, ""},
		{"IPv6 behind IPv6", from("[2001:db8:ffff::1]:80", xff, "[2001:db8:1:2:3::4]:5555"), []IPOption{behind}, "2001:db8:1:2::/64"},
		{"an address of IPv4 in brackets", from("10.1.2.3:80", xff, "[192.0.2.1]"), []IPOption{behind}, ""},

		{"IPv6 by prefix", from("[2001:db8:1:2:3:4:5:6]:1", xff), nil, "2001:db8:1:2::/64"},
		{"IPv6 by a prefix of 48", from("[2001:db8:1:2:3:4:5:6]:1", xff), []IPOption{IPv6Prefix(48)}, "2001:db8:1::/48"},
		{"IPv6 whole", from("[2001:db8:1:2:3:4:5:6]:1", xff), []IPOption{IPv6Prefix(128)}, "2001:db8:1:2:3:4:5:6"},
		{"IPv6 with a zone", from("[fe80::1%eth0]:1", xff), nil, "fe80::/64"},
		{"IPv4 in IPv6", from("[::ffff:192.0.2.1]:1", xff), nil, "192.0.2.1"},
		{"a proxy by IPv4 in IPv6", from("[::ffff:10.0.0.1]:1", xff, "::ffff:192.0.2.1"), []IPOption{behind}, "192.0.2.1"},
		{"a proxy named by IPv4 in IPv6", from("10.0.0.1:1", xff, "192.0.2.1"), []IPOption{TrustProxies("::ffff:10.0.0.0/104")}, "192.0.2.1"},
		{"NAT64", from("[64:ff9b::c000:201]:1", xff), nil, "192.0.2.1"},
		{"NAT64, another client of the same", from("[64:ff9b::c000:202]:1", xff), []IPOption{IPv6Prefix(48)}, "192.0.2.2"},
		{"NAT64 behind a proxy", from("10.1.2.3:80", xff, "64:ff9b::192.0.2.1"), []IPOption{behind}, "192.0.2.1"},
		{"NAT64 of a proxy is no proxy by IPv4", from("[64:ff9b::a01:203]:1", xff, "6.6.6.6"), []IPOption{behind}, "10.1.2.3"},
		{"what is beside NAT64's prefix", from("[64:ff9b:1::c000:201]:1", xff), nil, "64:ff9b:1::/64"},
		{"without a port, as other middleware leaves it", from("192.0.2.1", xff), nil, "192.0.2.1"},

		{"no address", from("pipe", xff), nil, ""},
		{"a Unix socket", from("@", xff, "192.0.2.1"), nil, ""},
		{"a trusted Unix socket", from("@", xff, "6.6.6.6, 192.0.2.1"), []IPOption{TrustUnixSocket()}, "192.0.2.1"},
		{"a trusted Unix socket that says nothing", from("", xff), []IPOption{TrustUnixSocket()}, ""},
		{"a trusted Unix socket does not trust others", from("192.0.2.1:1", xff, "6.6.6.6"), []IPOption{TrustUnixSocket()}, "192.0.2.1"},

		{"Forwarded", from("10.1.2.3:80", "Forwarded", `for=6.6.6.6, For="192.0.2.1:47";proto=http;by=10.0.0.2`), []IPOption{behind, ReadForwarded()}, "192.0.2.1"},
		{"Forwarded, through two", from("10.1.2.3:80", "Forwarded", `for="[2001:db8::17]:4711"`, `for=10.0.0.7`), []IPOption{behind, ReadForwarded()}, "2001:db8::/64"},
		{"Forwarded is not read unasked", from("10.1.2.3:80", "Forwarded", "for=192.0.2.1"), []IPOption{behind}, "10.1.2.3"},
		{"X-Forwarded-For is not read beside it", from("10.1.2.3:80", xff, "192.0.2.1"), []IPOption{behind, ReadForwarded()}, "10.1.2.3"},
		{"Forwarded for unknown", from("10.1.2.3:80", "Forwarded", "for=unknown"), []IPOption{behind, ReadForwarded()}, ""},
		{"Forwarded by one who does not say for whom", from("10.1.2.3:80", "Forwarded", "for=192.0.2.1, by=10.0.0.2"), []IPOption{behind, ReadForwarded()}, ""},
		{"Forwarded for two", from("10.1.2.3:80", "Forwarded", "for=192.0.2.1;for=192.0.2.2"), []IPOption{behind, ReadForwarded()}, ""},
		{"a client that opens a quote before the proxy's words", from("10.1.2.3:80", "Forwarded", `for=6.6.6.6, x=", for=192.0.2.1`), []IPOption{behind, ReadForwarded()}, ""},
		{"the same, before a proxy that quotes", from("10.1.2.3:80", "Forwarded", `for=6.6.6.6;x=", for="192.0.2.1"`), []IPOption{behind, ReadForwarded()}, ""},
		{"the same, with a backslash", from("10.1.2.3:80", "Forwarded", `for=6.6.6.6;x="\, for="192.0.2.1"`), []IPOption{behind, ReadForwarded()}, ""},
		{"a quote that the client closes", from("10.1.2.3:80", "Forwarded", `x="a,\"b", for=192.0.2.1`), []IPOption{behind, ReadForwarded()}, "192.0.2.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := ByIP(c.opts...).Of(c.r)
			if c.want == "" {
				require.ErrorIs(t, err, ErrNoKey)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestIPOptionsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]IPOption{
		"a name":               TrustProxies("proxy.example.org"),
		"a prefix too long":    TrustProxies("10.0.0.0/33"),
		"nothing":              TrustProxies(""),
		"a prefix of 0 bits":   IPv6Prefix(0),
		"a prefix of 129 bits": IPv6Prefix(129),
		"nil":                  nil,
	} {
		_, err := New(&ratelimiter.Limiter{}, ByIP(o), FailOpen)
		assert.ErrorIs(t, err, ratelimiter.ErrInvalidArgument, name)
		_, err = ByIP(o).Of(from("192.0.2.1:1", xff))
		assert.ErrorIs(t, err, ratelimiter.ErrInvalidArgument, name)
	}
}

func TestHeaderAndOwnKeys(t *testing.T) {
	t.Parallel()
	for want, of := range map[string]Key{"6ab9f1eb8f7d3388f4f9d586f66e99fd": ByHeader("x-api-key"), "k1": ByHeader("x-api-key", Plain())} {
		key, err := of.Of(from("", "X-Api-Key", " k1 "))
		require.NoError(t, err)
		assert.Equal(t, want, key)
	}
	for _, r := range []*http.Request{from("", "Other"), from("", "X-Api-Key", "a", "b"), from("", "X-Api-Key", "  ")} {
		_, err := ByHeader("X-Api-Key").Of(r)
		assert.ErrorIs(t, err, ErrNoKey)
	}
	_, err := By(func(*http.Request) (string, error) { return "", nil }).Of(from("", "Other"))
	assert.ErrorIs(t, err, ErrNoKey)
	for _, bad := range []Key{{}, By(nil), ByHeader(""), ByHeader("User", nil)} {
		_, err = bad.Of(from("", "Other"))
		assert.ErrorIs(t, err, ratelimiter.ErrInvalidArgument)
	}
}

// Whatever a client writes: the proxy's word counts.
func FuzzForwarded(f *testing.F) {
	for _, seed := range []string{"", "6.6.6.6", "10.0.0.1, 10.0.0.2", `for="`, `for=6.6.6.6;x="\`, ",", "unknown", `"`, `for="[::1`, "\x00", strings.Repeat("10.0.0.1,", 50)} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	proxies := TrustProxies("10.0.0.0/8")
	f.Fuzz(func(t *testing.T, written string, appends bool) {
		for _, c := range []struct {
			header, word string
			key          Key
			mayFail      bool // a quote left open is refused
		}{
			{xff, "192.0.2.1", ByIP(proxies), false},
			{"Forwarded", "for=192.0.2.1", ByIP(proxies, ReadForwarded()), appends},
			{"Forwarded", `for="192.0.2.1:80"`, ByIP(proxies, ReadForwarded()), appends},
		} {
			lines := []string{written, c.word}
			if appends {
				lines = []string{written + ", " + c.word}
			}
			got, err := c.key.Of(from("10.0.0.1:1", c.header, lines...))
			if c.mayFail && err != nil {
				require.ErrorIs(t, err, ErrNoKey)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, "192.0.2.1", got)
		}
		// As the proxy's own words they are an address or none.
		for _, k := range []Key{ByIP(proxies), ByIP(proxies, ReadForwarded())} {
			r := from("10.0.0.1:1", xff, written)
			r.Header["Forwarded"] = []string{written}
			if got, err := k.Of(r); err == nil {
				_, err = netip.ParseAddr(strings.TrimSuffix(got, "/64"))
				require.NoError(t, err, got)
			} else {
				require.ErrorIs(t, err, ErrNoKey)
			}
		}
	})
}
