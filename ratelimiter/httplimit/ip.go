package httplimit

import (
	"fmt"
	"iter"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/rueidisson/rueidisson/ratelimiter"
)

// ByIP returns a Key by the client's address: that of the connection, or what trusted proxies
// say of it, see [TrustProxies]. Addresses of IPv6 count by their prefix, see
// [IPv6Prefix]; those that carry one of IPv4 (::ffff:192.0.2.1, and
// 64:ff9b::192.0.2.1 of a NAT64) are that one; zones and ports do not matter. Keys look like "192.0.2.1" and
// "2001:db8:1:2::/64".
//
// If the address cannot be read, or a trusted proxy wrote something that is no
// address, such as "unknown", the request has no key.
func ByIP(opts ...IPOption) Key {
	p := &ipKey{v6: 64, hops: forwardedForX}
	for _, o := range opts {
		if o == nil {
			return Key{bad: fmt.Errorf("%w: a nil option", ratelimiter.ErrInvalidArgument)}
		}
		if err := o.applyIP(p); err != nil {
			return Key{bad: err}
		}
	}
	return Key{of: p.of, kind: "address", open: true}
}

// An IPOption changes how [ByIP] finds the client's address.
type IPOption interface{ applyIP(*ipKey) error }

type ipOption func(*ipKey) error

func (o ipOption) applyIP(p *ipKey) error { return o(p) }

// TrustProxies names the proxies whose X-Forwarded-For is believed, as
// addresses or prefixes: "10.1.2.3", "10.1.0.0/16", "2001:db8::/32". Name
// proxies alone, not the network that clients are in as well: a client with a
// trusted address can pretend to be anybody.
//
// A request that comes from a trusted proxy without the header is the proxy's
// own, such as a health check. One in which all addresses are trusted ones is
// from the first of them.
func TrustProxies(addresses ...string) IPOption {
	return ipOption(func(p *ipKey) error {
		for _, text := range addresses {
			prefix, err := parsePrefix(text)
			if err != nil {
				return fmt.Errorf("%w: trusted proxy %q is no address and no prefix", ratelimiter.ErrInvalidArgument, text)
			}
			p.proxies = append(p.proxies, prefix)
		}
		return nil
	})
}

// TrustUnixSocket trusts the header of each process that connects over a Unix socket, which has no
// address.
func TrustUnixSocket() IPOption {
	return ipOption(func(p *ipKey) error {
		p.socket = true
		return nil
	})
}

// ReadForwarded reads the header Forwarded of RFC 7239 in place of
// X-Forwarded-For. It is never both: a proxy writes one of them, and hands on
// what the client wrote into the other.
func ReadForwarded() IPOption {
	return ipOption(func(p *ipKey) error {
		p.hops = forwardedFor
		return nil
	})
}

// IPv6Prefix says how many bits of an address of IPv6 tell clients apart, from 1
// to 128. The default is 64, the smallest network that a customer is given, in
// which he can choose addresses as he likes; many are given 56 or 48.
func IPv6Prefix(bits int) IPOption {
	return ipOption(func(p *ipKey) error {
		if bits < 1 || bits > 128 {
			return fmt.Errorf("%w: an IPv6 prefix of %d bits: from 1 to 128", ratelimiter.ErrInvalidArgument, bits)
		}
		p.v6 = bits
		return nil
	})
}

// ipKey finds out addresses.
type ipKey struct {
	proxies []netip.Prefix
	socket  bool
	v6      int
	hops    func(http.Header) iter.Seq[string] // from the nearest on
}

func (p *ipKey) of(r *http.Request) (string, error) {
	client, err := p.client(r)
	if err != nil {
		return "", err
	}
	if nat64.Contains(client) { // it carries one of IPv4; who is trusted is told by the address before that
		bytes := client.As16()
		client = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	if client.Is4() || p.v6 == 128 {
		return client.String(), nil
	}
	return netip.PrefixFrom(client, p.v6).Masked().String(), nil
}

// client walks from the connection towards the client, for as long as the one
// who says where it goes on is trusted.
func (p *ipKey) client(r *http.Request) (at netip.Addr, err error) {
	// Over a Unix socket the client's end seldom has a path, and Linux writes "@" for that.
	believed := p.socket && (r.RemoteAddr == "" || r.RemoteAddr[0] == '@' || r.RemoteAddr[0] == '/')
	if !believed {
		if at, err = parseHost(r.RemoteAddr); err != nil {
			return at, fmt.Errorf("%w: remote address %q", ErrNoKey, r.RemoteAddr)
		}
		believed = p.trusts(at)
	}
	if !believed {
		return at, nil
	}
	for hop := range p.hops(r.Header) {
		if at, err = parseHost(hop); err != nil {
			return at, fmt.Errorf("%w: a trusted proxy forwarded for %q", ErrNoKey, hop)
		}
		if !p.trusts(at) {
			return at, nil
		}
	}
	if !at.IsValid() {
		return at, fmt.Errorf("%w: a Unix socket without a forwarded address", ErrNoKey)
	}
	return at, nil
}

func (p *ipKey) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(p.proxies, func(trusted netip.Prefix) bool { return trusted.Contains(a) })
}

// nat64 is the well-known prefix of RFC 6052: clients of IPv4 whom a translator
// makes into clients of IPv6.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// parseHost reads an address as it stands in headers and in RemoteAddr: with or
// without a port, one of IPv6 in brackets or not.
func parseHost(text string) (netip.Addr, error) {
	plain := text
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") && strings.Contains(text, ":") {
		plain = text[1 : len(text)-1]
	}
	a, err := netip.ParseAddr(plain)
	if err != nil {
		var with netip.AddrPort
		with, err = netip.ParseAddrPort(text)
		a = with.Addr()
	}
	return a.Unmap().WithZone(""), err
}

// parsePrefix reads an address as the prefix of that one alone.
func parsePrefix(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		a, err := parseHost(text)
		if err != nil {
			return netip.Prefix{}, err
		}
		return a.Prefix(a.BitLen())
	}
	p, err := netip.ParsePrefix(text)
	if err == nil && p.Addr().Is4In6() && p.Bits() >= 96 {
		return p.Addr().Unmap().Prefix(p.Bits() - 96)
	}
	return p.Masked(), err
}

// forwardedForX returns the addresses in X-Forwarded-For, from the last on. They
// are read no further than they are asked for: what stands to the left of a
// client's address was written by the client.
func forwardedForX(h http.Header) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, line := range slices.Backward(h.Values("X-Forwarded-For")) {
			for end := len(line); end >= 0; {
				before := strings.LastIndexByte(line[:end], ',')
				if hop := strings.Trim(line[before+1:end], " \t"); hop != "" && !yield(hop) {
					return
				}
				end = before
			}
		}
	}
}
