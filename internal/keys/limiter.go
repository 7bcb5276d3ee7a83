package keys

import "strings"

// Suffix returns Redisson's suffix rule: {name}:suffix, or name:suffix where the
// name brings its own braces.
func Suffix(name, suffix string) string {
	if strings.IndexByte(name, '{') >= 0 {
		return name + ":" + suffix
	}
	return "{" + name + "}:" + suffix
}

// RateValue names the key that says how many permits of Redisson's rate limiter are left, for
// either library; the limiter's setting is the name itself.
func RateValue(name string) string { return Suffix(name, "value") }

// RateLog names the key that says what was granted of it and when.
func RateLog(name string) string { return Suffix(name, "permits") }

// RateValueOf is RateValue for a limiter whose clients each have the whole rate.
func RateValueOf(name, client string) string { return RateValue(name) + ":" + client }

// RateLogOf is RateLog likewise.
func RateLogOf(name, client string) string { return RateLog(name) + ":" + client }
