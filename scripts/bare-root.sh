#!/usr/bin/env bash
# usage: scripts/bare-root.sh [--user] COMMAND…
# Runs a command in a minimal Debian 12 that has make, git and ca-certificates and nothing else of what we need:
#   scripts/bare-root.sh make run            as root
#   scripts/bare-root.sh --user make test    as a user who may use sudo
# The root is made for this run, with this machine's apt settings, and removed afterwards. The command runs in a clone
# of the current commit, with the uncommitted changes of tracked files, and uses this machine's network and compiler
# cache, which has what it needs if the packages here are as new as those there. Variables named WEIR_… are passed on.
# Mounts and processes live in namespaces that end with the command, however it ends. Needs root or sudo, mmdebstrap,
# and the right to create namespaces; ends with 99 where no root can be created, and otherwise as the command.
set -euo pipefail
cd "$(dirname "$0")/.."
user=root
if [ "${1:-}" = --user ]; then
  user=weir
  shift
fi
[ $# -gt 0 ] || { echo "usage: $0 [--user] COMMAND…" >&2; exit 2; }

give_up() {
  echo "cannot create a minimal Debian 12: $1" >&2
  exit 99
}

as_root=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || give_up "neither root nor sudo"
  as_root=sudo
fi
grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release || give_up "this machine is not Debian 12, and its apt settings are used"
command -v mmdebstrap >/dev/null || give_up "mmdebstrap is missing (scripts/install-deps.sh bare)"
$as_root unshare --mount --pid --fork true ||
  give_up "no right to create mount and process namespaces (CAP_SYS_ADMIN; in Docker: --privileged)"

# A run that was killed could not remove its folder: no process holds its lock.
base=${TMPDIR:-/var/tmp}
for stale in "$base"/weir-bare.*; do
  [ ! -f "$stale/lock" ] || $as_root flock --nonblock "$stale/lock" rm -rf --one-file-system "$stale" || true
done
folder=$(mktemp -d "$base/weir-bare.XXXXXX")
clean_up() {
  trap '' INT TERM HUP
  [ ! -s "$folder/pid" ] || $as_root kill -KILL "$(cat "$folder/pid")" 2>/dev/null || true
  wait 2>/dev/null || true
  $as_root rm -rf --one-file-system "$folder"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
exec 9>"$folder/lock"
flock 9
chmod 755 "$folder"

git clone --quiet --no-hardlinks . "$folder/clone"
git diff --binary HEAD >"$folder/changes"
[ ! -s "$folder/changes" ] || git -C "$folder/clone" apply --index "$folder/changes"

variables=("TERM=${TERM:-dumb}" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
while IFS= read -r name; do variables+=("$name=${!name}"); done < <(compgen -e | grep '^WEIR_' || true)
cache=""
if command -v ccache >/dev/null; then
  cache=$(ccache --get-config cache_dir)
  mkdir -p "$cache"
  # The size bound comes along: with another one the shared cache would be trimmed to it.
  variables+=(CCACHE_DIR=/ccache CCACHE_TEMPDIR=/tmp/ccache "CCACHE_MAXSIZE=$(ccache --get-config max_size)")
  # Another user would leave files in the cache that its owner cannot remove.
  [ "$(id -un)" = $user ] || variables+=(CCACHE_READONLY=1)
fi

# in_namespace FOLDER CACHE USER COUNT VARIABLE… COMMAND…: creates the root and runs the command, as the first process of
# the namespace. Ends with 99 if there is no root.
in_namespace() {
  local folder=$1 cache=$2 user=$3 home=/root include=make,git,ca-certificates
  local variables=("${@:5:$4}") command=("${@:5+$4}")
  local root=$folder/root
  [ "$user" = root ] || { home=/home/$user && include=$include,sudo; }
  mkdir "$root" || return 99
  # Memory is faster and needs no cleaning up, where there is enough of it.
  local free
  free=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)
  if [ "$free" -gt 6000000 ]; then
    mount -t tmpfs -o "mode=755,size=$((free * 2 / 3))k" tmpfs "$root" || return 99
  fi
  mmdebstrap --variant=minbase --include="$include" \
    --setup-hook='cp -a /etc/apt/. "$1/etc/apt/"' --customize-hook='cp -an /usr/share/keyrings "$1/usr/share/"' \
    --customize-hook='cp /etc/hosts "$1/etc/hosts"' bookworm "$root" '' >"$folder/log" 2>&1 || { cat "$folder/log"; return 99; }
  # How this machine reaches npm's registry, like its apt settings: certificates of its own, and where npm finds them.
  cp -a /usr/local/share/ca-certificates "$root/usr/local/share/" 2>/dev/null
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null
  [ ! -f /etc/npmrc ] || cp /etc/npmrc "$root/etc/npmrc"
  mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount --rbind /sys "$root/sys" || return 99
  if [ -n "$cache" ]; then
    mkdir "$root/ccache" && mount --bind "$cache" "$root/ccache" || return 99
  fi
  if [ "$user" != root ]; then
    chroot "$root" useradd --create-home --shell /bin/bash "$user" || return 99
    echo "$user ALL=(ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/$user"
  fi
  mv "$folder/clone" "$root$home/weir" && chroot "$root" chown -R "$user:$user" "$home/weir" || return 99
  chroot --userspec="$user:$user" --groups= "$root" env -i "HOME=$home" "USER=$user" "${variables[@]}" \
    bash -c 'cd ~/weir && exec "$@"' bash "${command[@]}"
}

# The kernel ends everything in the namespace with its first process, that with unshare, and unshare with this script.
echo "creating a minimal Debian 12 in $folder/root"
status=0
$as_root bash -c 'echo $$ >"$0" && exec setpriv --pdeathsig KILL "$@"' "$folder/pid" \
  unshare --mount --propagation private --pid --fork --kill-child \
  bash -c "$(declare -f in_namespace); in_namespace \"\$@\"; exit" bash \
  "$folder" "$cache" "$user" ${#variables[@]} "${variables[@]}" "$@" <&0 &
wait $! || status=$?
rm -f "$folder/pid"
[ $status -ne 99 ] || give_up "see above"
exit $status
