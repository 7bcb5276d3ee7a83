package redistest

import (
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
)

// AsApp has a client log in as the user of [Sentinel.AddApp].
func AsApp(o *rueidis.ClientOption) { o.Username, o.Password = "app", "secret" }

// AddApp gives all servers the user of [AsApp].
func (s *Sentinel) AddApp(t testing.TB) {
	t.Helper()
	for _, node := range s.Nodes() {
		Do(t, node.Client(t), "ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all")
	}
}

// SplitOff cuts the Sentinels off from the master, which goes on as one and answers [AsApp]. It returns the new master when
// client has learned of it.
func (s *Sentinel) SplitOff(t testing.TB, client rueidis.Client) *Server {
	t.Helper()
	old := s.Master()
	admin := old.Client(t, AsApp)
	in := admin.DoMulti(t.Context(), admin.B().Set().Key("redistest:split").Value("1").Build(), admin.B().Wait().Numreplicas(1).Timeout(5000).Build())
	n, err := in[1].AsInt64()
	require.NoError(t, err)
	require.EqualValues(t, 1, n, "the replica has what was written before")
	Do(t, admin, "ACL", "SETUSER", "default", "off")
	Do(t, admin, "CLIENT", "KILL", "USER", "default")
	now := s.AwaitMaster(t, old.Addr())
	Eventually(t, func() bool {
		m, err := client.Do(t.Context(), client.B().Arbitrary("CONFIG", "GET", "port").Build()).AsStrMap()
		return err == nil && "127.0.0.1:"+m["port"] == now.Addr()
	}, Soon, 50*time.Millisecond, "the client has learned of the new master")
	return now
}
