package redistest

import (
	"crypto/sha1"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
)

// Match tells whether a rule of the [Proxy] is about this command: its name and arguments as they were sent. It must
// not call the proxy.
type Match func(cmd []string) bool

// Command matches the commands of these names, in any case.
func Command(names ...string) Match {
	return func(cmd []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, cmd[0]) })
	}
}

// Arg matches the commands with an argument that is exactly this, such as a key.
func Arg(value string) Match {
	return func(cmd []string) bool { return slices.Contains(cmd[1:], value) }
}

// All matches what all of them match.
func All(matches ...Match) Match {
	return func(cmd []string) bool {
		return !slices.ContainsFunc(matches, func(m Match) bool { return !m(cmd) })
	}
}

// AnyScript matches every call of a script or function.
func AnyScript() Match { return Command(scriptCommands...) }

// MatchScript matches EVAL with this body and EVALSHA with its SHA1.
func MatchScript(body string) Match {
	sum := scriptSum(body)
	return func(cmd []string) bool { return calledScript(cmd) == sum }
}

// ScriptContaining matches the scripts whose body contains the text. An EVALSHA matches only if a proxy has seen the
// body before, by EVAL or SCRIPT LOAD; [MatchScript] has no such limit.
func (p *Proxy) ScriptContaining(text string) Match {
	return func(cmd []string) bool {
		body, _ := bodies.Load(calledScript(cmd))
		known, _ := body.(string)
		return known != "" && strings.Contains(known, text)
	}
}

// calledScript returns the SHA1 of the script that the command runs, "" if it runs none.
func calledScript(cmd []string) string {
	if len(cmd) < 2 {
		return ""
	}
	switch strings.ToUpper(cmd[0]) {
	case "EVAL", "EVAL_RO":
		return scriptSum(cmd[1])
	case "EVALSHA", "EVALSHA_RO":
		return strings.ToLower(cmd[1])
	}
	return ""
}

// bodies has the scripts that any proxy has seen, by their SHA1: clients load a script by one connection, and call it by all.
var bodies sync.Map

// remember keeps the bodies that pass by.
func (p *Proxy) remember(cmd []string) {
	switch {
	case len(cmd) > 1 && Command("EVAL", "EVAL_RO")(cmd):
		bodies.Store(scriptSum(cmd[1]), cmd[1])
	case len(cmd) > 2 && Command("SCRIPT")(cmd) && strings.EqualFold(cmd[1], "LOAD"):
		bodies.Store(scriptSum(cmd[2]), cmd[2])
	}
}

func scriptSum(body string) string {
	sum := sha1.Sum([]byte(body))
	return hex.EncodeToString(sum[:])
}
