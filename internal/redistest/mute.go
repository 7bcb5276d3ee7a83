package redistest

import (
	"testing"

	"github.com/redis/rueidis"
)

// Mute puts a proxy in front of each of these single servers, so that all may fall silent, and answer again.
func Mute(t testing.TB, servers ...rueidis.ClientOption) (through []rueidis.ClientOption, silence, restore func()) {
	t.Helper()
	var proxies []*Proxy
	for _, option := range servers {
		p := NewProxy(t, option.InitAddress[0])
		option.InitAddress = []string{p.Addr()}
		proxies, through = append(proxies, p), append(through, option)
	}
	each := func(do func(*Proxy)) func() {
		return func() {
			for _, p := range proxies {
				do(p)
			}
		}
	}
	return through, each((*Proxy).BlackHole), each((*Proxy).Restore)
}
