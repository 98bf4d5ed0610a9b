#!/bin/sh
# Starts redisson_lock.java, with the arguments given. Redisson's jar is the user's: redisson-all-VERSION.jar, which has
# its dependencies in it, in the folder redisson/ beside this file, or wherever HOLDFAST_REDISSON_JAR says.
for jar in "$HOLDFAST_REDISSON_JAR" redisson/*.jar; do
  [ -e "$jar" ] && break
done
if ! command -v javac >/dev/null; then
  echo "a JDK is missing: apt-get install default-jdk-headless" >&2
  exit 69
elif [ ! -e "$jar" ]; then
  echo "Redisson's jar is missing: put redisson-all-VERSION.jar into scenarios/external/redisson/, or name it in HOLDFAST_REDISSON_JAR" >&2
  exit 69
fi
exec java -XX:TieredStopAtLevel=1 -cp "$jar" redisson_lock.java "$@"
