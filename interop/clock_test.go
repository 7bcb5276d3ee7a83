//go:build interop

package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/interop/peer"
	"github.com/rueidisson/rueidisson/semaphore"
)

// startAhead is a JVM whose clock is ahead. It needs a C compiler.
func (w *world) startAhead(t *testing.T, by string) *peer.Peer {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil && os.Getenv("RUEIDISSON_REQUIRE_SERVERS") == "1" {
		t.Fatal("there is no C compiler, for the library that sets the clock of a JVM (`make test` installs it): ", err)
	} else if err != nil {
		t.Skip("SKIPPED, NOT TESTED: there is no C compiler, for the library that sets the clock of a JVM: ", err)
	}
	library := filepath.Join(t.TempDir(), "ahead.so")
	said, err := exec.Command(cc, "-shared", "-fPIC", "-o", library, "testdata/ahead.c", "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", said)
	options := w.jvm
	options.Env = []string{"LD_PRELOAD=" + library, "CLOCK_AHEAD=" + by}
	return peer.Start(t, options)
}

// javaIsAhead by 15 s: it counts leases by its own clock. It takes no permit that is renewed, which has at least 20 s
// left by the default, but one with a fixed lease of 5 s at once.
func javaIsAhead(t *testing.T, w *world) {
	p := w.leased(t, 1)
	p.theirs = w.startAhead(t, "15").PermitSemaphore("ahead", p.mine.Name())
	p.mine = w.client(t, rueidisson.WithWatchdogTimeout(30*time.Second)).PermitSemaphore(p.mine.Name())
	renewed := p.goTakes()
	p.javaTakes(longLease, false)
	p.goGives(renewed)

	fixed := p.goTakes(semaphore.WithLease(5 * time.Second))
	took := p.javaTakes(longLease, true)
	require.NoError(t, fixed.Err(), "and its holder knows nothing of it")
	require.ErrorIs(t, fixed.Release(p.ctx), semaphore.ErrLost)
	p.javaGives(took, true)
	p.free(1)
}
